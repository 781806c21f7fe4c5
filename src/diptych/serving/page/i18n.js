// The language of the interface: one flat file of sentences for each, chosen by the browser or the person.

import { find, findAll, kept, number } from "/page/dom.js";

export const LANGUAGES = { en: "English", de: "Deutsch", zh: "中文", ja: "日本語" };
let sentences = {};
let plurals = new Intl.PluralRules("en");

export function chosenLanguage() {
  const wanted = [kept.get("language", null), ...(navigator.languages ?? [])].filter(Boolean);
  return wanted.map((tag) => String(tag).slice(0, 2)).find((tag) => tag in LANGUAGES) ?? "en";
}

export async function loadLanguage(language = chosenLanguage()) {
  document.documentElement.lang = language;
  const loaded = await (await fetch(`/page/${language}.json`)).json();
  if (document.documentElement.lang !== language) return; // another one was chosen meanwhile
  sentences = loaded;
  plurals = new Intl.PluralRules(language);
  translate(document);
}

/** A sentence with values in it; "{n} item|{n} items" is chosen by `n`. */
export function t(key, values = {}) {
  const forms = (sentences[key] ?? key).split("|");
  const form = forms.length > 1 && plurals.select(values.n ?? 2) !== "one" ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(values[name]) : (values[name] ?? "")));
}

/** Fill in what the document says: `data-t` is a text, `data-t-title`, `data-t-label`, `data-t-placeholder` are attributes. */
export function translate(root) {
  for (const element of findAll("[data-t]", root)) element.textContent = t(element.dataset.t);
  for (const [data, attribute] of [["tTitle", "title"], ["tLabel", "aria-label"], ["tPlaceholder", "placeholder"]]) {
    const name = data.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    for (const element of findAll(`[data-${name}]`, root)) element.setAttribute(attribute, t(element.dataset[data]));
  }
  find("meta[name=description]")?.setAttribute("content", t("hero"));
}
