// Suggestions while typing, and recent searches before it: a combobox with a list, by keys, pointer and screen reader.

import { find, kept, make } from "/page/dom.js";

const PAUSE = 120; // milliseconds without a key before the server is asked
const RECENT = 12;

export const recentQueries = () => kept.get("recent", []).filter((one) => typeof one === "string");

export function rememberQuery(q) {
  if (q) kept.set("recent", [q, ...recentQueries().filter((one) => one !== q)].slice(0, RECENT));
}

export class Suggestions {
  /** `chosen(text)` is called when a suggestion is taken. */
  constructor(api, input, chosen) {
    this.api = api;
    this.input = input;
    this.chosen = chosen;
    this.list = find("#suggestions");
    this.active = -1;
    this.timer = 0;
    this.asked = null;
    input.addEventListener("input", () => this.type());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    input.addEventListener("click", () => input.value.trim() || this.isOpen || this.show(recentQueries().slice(0, 6), ""));
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.take(option.dataset.text);
    });
  }

  get isOpen() {
    return !this.list.hidden;
  }

  type() {
    this.forget();
    const typed = this.input.value.trimStart();
    if (!typed.trim()) return this.close();
    this.timer = setTimeout(() => this.ask(typed.slice(0, 200)), PAUSE);
    return undefined;
  }

  async ask(typed) {
    const asked = (this.asked = new AbortController());
    try {
      const { suggestions } = await this.api.json(`/v1/suggest?${new URLSearchParams({ q: typed })}`, { signal: asked.signal });
      if (this.asked === asked && document.activeElement === this.input) this.show(suggestions, typed);
    } catch {
      if (this.asked === asked) this.close(); // a search works without them
    }
  }

  show(texts, typed) {
    const said = typed.trim().toLowerCase();
    const options = texts.filter((text) => text.toLowerCase() !== said).map((text, place) => {
      const known = text.toLowerCase().startsWith(said) ? said.length : 0;
      const option = make("li", { role: "option", id: `suggestion-${place}`, "aria-selected": "false", "data-text": text });
      option.append(text.slice(0, known), make("strong", {}, text.slice(known)));
      return option;
    });
    this.list.replaceChildren(...options);
    this.list.hidden = !options.length;
    this.input.setAttribute("aria-expanded", String(this.isOpen));
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
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.activate(-1);
  }

  activate(place) {
    this.active = place;
    [...this.list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    const option = this.list.children[place];
    if (option) {
      this.input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  take(text) {
    this.close();
    this.input.value = text;
    this.chosen(text);
  }

  key(event) {
    if (event.isComposing || !this.isOpen) return;
    const count = this.list.children.length;
    const option = this.list.children[this.active];
    if (event.key.startsWith("Arrow")) this.forget(); // whoever chooses wants the list to stay as it is
    if (event.key === "ArrowDown") this.activate(this.active + 1 < count ? this.active + 1 : -1);
    else if (event.key === "ArrowUp") this.activate(this.active < 0 ? count - 1 : this.active - 1);
    else if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && option) this.take(option.dataset.text);
    else return;
    event.preventDefault();
  }
}
