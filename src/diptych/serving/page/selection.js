// What is selected, in any view, and what can be done with it.

import { button, find, icon, iconButton, make } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { MOST_EXAMPLES } from "/page/state.js";


export class Selection {
  chosen = new Map();
  listeners = [() => this.show()];

  constructor(app) {
    this.app = app;
  }

  get size() {
    return this.chosen.size;
  }

  get hits() {
    return [...this.chosen.values()];
  }

  changed(listener) {
    this.listeners.push(listener);
  }

  has(hit) {
    return this.chosen.has(hit.id);
  }

  add(hits) {
    for (const hit of hits) this.chosen.set(hit.id, hit);
    this.tell();
  }

  toggle(hit) {
    if (!this.chosen.delete(hit.id)) this.chosen.set(hit.id, hit);
    this.tell();
  }

  clear() {
    this.chosen.clear();
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  /** The bar with what can be done. */
  show() {
    const { hits, size } = this;
    const { actions, writes } = this.app;
    find("#selected").hidden = !size;
    document.body.classList.toggle("has-selection", size > 0);
    const act = (name, text, run, className = "") => button([icon(name), make("span", text)], run, { className });
    find("#selected").replaceChildren(
      make("strong", { role: "status" }, t("selected", { n: size })),
      make("hr", { ariaHidden: true }),
      act("like", t("like.these"), () => actions.refine("like", hits)),
      act("unlike", t("unlike.these"), () => actions.refine("unlike", hits)),
      act("download", "ZIP", () => actions.download("zip", hits)),
      act("download", "CSV", () => actions.download("csv", hits)),
      ...(writes ? [act("label", t("label"), () => actions.label(hits)), act("remove", t("delete"), () => actions.remove(hits), "danger")] : []),
      iconButton("close", t("clear"), () => this.clear()),
    );
  }
}

/** The items that lead a query: of very many an even choice. */
export function examplesOf(hits) {
  const step = Math.max(1, hits.length / MOST_EXAMPLES);
  return Array.from({ length: Math.min(hits.length, MOST_EXAMPLES) }, (_, place) => hits[Math.floor(place * step)].id);
}

/** Say something for a while, with at most one thing to do about it; returns a function that takes it away. */
export function toast(words, { action, run, seconds = 6 } = {}) {
  const box = make("div.toast", make("span", words));
  const end = () => box.remove();
  if (action) box.append(button(action, () => { end(); run(); }));
  box.append(iconButton("close", t("close"), end));
  find("#toasts").append(box);
  if (seconds) setTimeout(end, seconds * 1000);
  return Object.assign(end, { say: (text) => (box.firstChild.textContent = text) });
}
