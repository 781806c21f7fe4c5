// The language of the interface: one flat file of sentences for each, chosen by the browser or the person.

import { find, findAll, kept, number } from "/page/dom.js";

export const LANGUAGES = ["en", "de", "zh", "ja"];
/** What the document says: attributes that name a sentence, and the properties it is for. */
const SAID = { "data-t": ["textContent"], "data-t-label": ["ariaLabel"], "data-t-title": ["title", "ariaLabel"], "data-t-placeholder": ["placeholder", "ariaLabel"] };
let sentences = {};
let plurals = new Intl.PluralRules("en");

export function chosenLanguage() {
  const wanted = [kept.get("language", ""), ...navigator.languages];
  return wanted.map((tag) => String(tag).slice(0, 2)).find((tag) => LANGUAGES.includes(tag)) ?? "en";
}

export async function loadLanguage(language = chosenLanguage()) {
  document.documentElement.lang = language;
  const loaded = await (await fetch(`/page/${language}.json`)).json();
  if (document.documentElement.lang !== language) return; // another one was chosen meanwhile
  sentences = loaded;
  plurals = new Intl.PluralRules(language);
  translate();
  find("meta[name=description]").content = t("hero");
}

/** A sentence with values in it; "{n} item|{n} items" is chosen by `n`. */
export function t(key, values = {}) {
  const forms = (sentences[key] ?? key).split("|");
  const form = plurals.select(values.n ?? 2) === "one" ? forms[0] : forms.at(-1);
  return form.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(values[name]) : (values[name] ?? "")));
}

export const counted = (n) => t("items", { n });

export function translate(root = document) {
  for (const [attribute, properties] of Object.entries(SAID))
    for (const element of findAll(`[${attribute}]`, root))
      for (const property of properties) element[property] = t(element.getAttribute(attribute));
  return root;
}
