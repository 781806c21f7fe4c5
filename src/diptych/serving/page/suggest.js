// Suggestions while typing, and recent searches before it: a combobox with a list, by keys, pointer and screen reader.

import { find, kept, make } from "/page/dom.js";

const PAUSE = 120; // milliseconds without a key before the server is asked
const RECENT = 12;

export const recentQueries = () => kept.get("recent", []).filter((one) => typeof one === "string");

export function rememberQuery(q) {
  if (q) kept.set("recent", [q, ...recentQueries().filter((one) => one !== q)].slice(0, RECENT));
}

export class Suggestions {
  list = find("#suggestions");
  active = -1;
  asked = null;

  /** `chosen(text)` is called when a suggestion is taken. */
  constructor(api, input, chosen) {
    Object.assign(this, { api, input, chosen });
    input.oninput = () => this.type();
    input.onkeydown = (event) => this.key(event);
    input.onblur = () => this.close();
    input.onclick = () => input.value.trim() || this.isOpen || this.show(recentQueries().slice(0, 6), "");
    this.list.onpointerdown = (event) => event.preventDefault(); // the box keeps the focus
  }

  get isOpen() {
    return !this.list.hidden;
  }

  type() {
    this.forget();
    const typed = this.input.value.trimStart().slice(0, 200);
    if (typed) this.timer = setTimeout(() => this.ask(typed), PAUSE);
    else this.close();
  }

  async ask(q) {
    const asked = (this.asked = new AbortController());
    const { signal } = asked;
    const found = await this.api.json(`/v1/suggest?${new URLSearchParams({ q })}`, { signal }).catch(() => null);
    if (this.asked !== asked) return;
    if (!found) this.close(); // a search works without them
    else if (document.activeElement === this.input) this.show(found.suggestions, q);
  }

  show(texts, typed) {
    const said = typed.trim().toLowerCase();
    const others = texts.filter((text) => text.toLowerCase() !== said);
    this.list.replaceChildren(...others.map((text, place) => {
      const known = text.toLowerCase().startsWith(said) ? said.length : 0;
      return make("li", { role: "option", id: `suggestion-${place}`, onclick: () => this.take(text) }, text.slice(0, known), make("strong", text.slice(known)));
    }));
    this.open(others.length > 0);
  }

  open(yes) {
    this.list.hidden = !yes;
    this.input.ariaExpanded = yes;
    this.activate(-1);
  }

  /** Forget what is under way, so that no list opens behind a question that was asked meanwhile. */
  forget() {
    clearTimeout(this.timer);
    this.asked?.abort();
    this.asked = null;
  }

  close() {
    this.forget();
    this.open(false);
  }

  activate(place) {
    this.active = place;
    const options = [...this.list.children];
    options.forEach((option, at) => (option.ariaSelected = at === place));
    this.input.setAttribute("aria-activedescendant", options[place]?.id ?? "");
    if (place < 0) this.input.removeAttribute("aria-activedescendant");
    options[place]?.scrollIntoView({ block: "nearest" });
  }

  take(text) {
    this.close();
    this.input.value = text;
    this.chosen(text);
  }

  key(event) {
    if (event.isComposing || !this.isOpen) return;
    const { children } = this.list;
    if (event.key.startsWith("Arrow")) this.forget(); // whoever chooses wants the list to stay as it is
    if (event.key === "ArrowDown") this.activate(this.active + 1 < children.length ? this.active + 1 : -1);
    else if (event.key === "ArrowUp") this.activate(this.active < 0 ? children.length - 1 : this.active - 1);
    else if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && children[this.active]) this.take(children[this.active].textContent);
    else return;
    event.preventDefault();
  }
}
