// The search box: words, images that are chosen, dropped or pasted, and chips for what else is asked.

import { isSound } from "/page/audio.js";
import { button, find, icon, make } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { textOf } from "/page/results.js";
import { Suggestions } from "/page/suggest.js";
import { plain } from "/page/words.js";

export class QueryBox {
  /** `changed(part of the state)` is called when something new is asked; `added(files)` takes files to be added. */
  constructor(api, changed, problem) {
    Object.assign(this, { api, changed, problem, url: null, q: "", limit: 20 * 2 ** 20 });
    this.words = find("#words");
    const ask = (q) => changed({ q, view: this.view === "explore" ? "explore" : "search" });
    this.suggestions = new Suggestions(api, this.words, ask);
    find("#query").addEventListener("submit", (event) => {
      event.preventDefault();
      this.suggestions.close();
      ask(this.words.value.trim());
    });
    find("#choose").addEventListener("click", () => find("#file").click());
    find("#file").addEventListener("change", (event) => {
      this.take(event.target.files);
      event.target.value = "";
    });
    this.listenToPage();
  }

  listenToPage() {
    const busy = () => Boolean(find("dialog[open]"));
    document.addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length || busy()) return;
      event.preventDefault();
      this.take(event.clipboardData.files);
    });
    const veil = find("#dropping");
    const carriesFile = (event) => event.dataTransfer?.types.includes("Files") && !busy();
    document.addEventListener("dragover", (event) => {
      if (!carriesFile(event)) return;
      event.preventDefault();
      veil.hidden = false;
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) veil.hidden = true;
    });
    document.addEventListener("drop", (event) => {
      veil.hidden = true;
      if (!carriesFile(event)) return;
      event.preventDefault();
      this.take(event.dataTransfer.files);
    });
  }

  take(files) {
    const image = [...files].find((file) => file.type.startsWith("image/") || isSound(file));
    if (!image) return this.problem(t("not.image"));
    if (image.size > this.limit) return this.problem(t("too.large", { n: Math.floor(this.limit / 2 ** 20) }));
    return this.changed({ image, like: [], unlike: [], q: "", into: "", view: "search" });
  }

  examples(texts) {
    find("#examples").replaceChildren(...texts.map((text) => button(plain(text), () => this.changed({ q: plain(text) }))));
  }

  /** What is typed stays as long as the question does: an answer that arrives meanwhile must not erase it. */
  show(state) {
    this.view = state.view;
    if (state.q !== this.q) this.words.value = this.q = state.q;
    const chips = [];
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = state.image ? URL.createObjectURL(state.image) : null;
    if (state.image) chips.push(this.chip(isSound(state.image) ? null : make("img", { src: this.url, alt: "" }), t("your.image"), () => this.changed({ image: null })));
    for (const sign of ["like", "unlike"])
      if (state[sign].length > 3) chips.push(this.chip(null, t(`${sign}.n`, { n: state[sign].length }), () => this.changed({ [sign]: [] }), sign));
      else for (const id of state[sign]) chips.push(this.exampleChip(sign, id, state[sign]));
    find("#chips").replaceChildren(...chips);
    this.words.placeholder = chips.length ? t("words.more") : t("placeholder");
  }

  chip(image, text, remove, sign = "") {
    const cross = make("button", { type: "button", class: "icon", "aria-label": t("remove", { name: text }), onclick: remove }, icon("close"));
    return make("span", { class: `chip ${sign}` }, image, make("span", {}, text), cross);
  }

  exampleChip(sign, id, all) {
    const image = make("img", { alt: "", hidden: true });
    const chip = this.chip(image, t(`${sign}.one`, { name: id }), () => this.changed({ [sign]: all.filter((one) => one !== id) }), sign);
    this.api.item(id).then(
      (item) => {
        const name = t(`${sign}.one`, { name: textOf(item) || item.item });
        find("span", chip).textContent = name;
        find("button", chip).setAttribute("aria-label", t("remove", { name }));
        if (!item.media) return;
        image.hidden = false;
        this.api.show(image, item.media);
      },
      () => {},
    );
    return chip;
  }
}
