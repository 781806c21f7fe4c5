// The search box: words, images that are chosen, dropped or pasted, chips for what else is asked, and notices below it.

import { isSound } from "/page/audio.js";
import { button, find, iconButton, isNewTab, make } from "/page/dom.js";
import { counted, t } from "/page/i18n.js";
import { textOf } from "/page/results.js";
import { toAddress } from "/page/state.js";
import { Suggestions } from "/page/suggest.js";
import { plain } from "/page/words.js";

export class QueryBox {
  q = "";

  constructor(app) {
    this.app = app;
    this.words = find("#words");
    const ask = (q) => app.change({ q, view: app.state.view === "explore" ? "explore" : "search" });
    this.suggestions = new Suggestions(app.api, this.words, ask);
    find("#query").onsubmit = (event) => {
      event.preventDefault();
      this.suggestions.close();
      ask(this.words.value.trim());
    };
    find("#choose").onclick = () => find("#file").click();
    find("#file").onchange = ({ target }) => {
      this.take(target.files);
      target.value = "";
    };
    document.onpaste = (event) => this.takeFrom(event, event.clipboardData);
    document.ondragover = (event) => {
      if (!event.dataTransfer?.types.includes("Files") || find("dialog[open]")) return;
      event.preventDefault();
      find("#dropping").hidden = false;
    };
    document.ondragleave = (event) => (find("#dropping").hidden ||= !event.relatedTarget);
    document.ondrop = (event) => this.takeFrom(event, event.dataTransfer);
  }

  takeFrom(event, carried) {
    find("#dropping").hidden = true;
    if (!carried?.files.length || find("dialog[open]")) return;
    event.preventDefault();
    this.take(carried.files);
  }

  take(files) {
    if (files.length > 1 && this.app.writes) return this.app.actions.upload(files);
    const image = [...files].find((file) => file.type.startsWith("image/") || isSound(file));
    const wrong = fileProblem(image, this.app.limit);
    if (wrong) return this.app.say(wrong, true);
    return this.app.change({ image, like: [], unlike: [], q: "", into: "", view: "search" });
  }

  examples(texts) {
    find("#examples").replaceChildren(...texts.slice(0, 6).map(plain).map((q) => button(q, () => this.app.change({ q }))));
  }

  /** What is typed stays as long as the question does: an answer that arrives meanwhile must not erase it. */
  show(state) {
    if (state.q !== this.q) this.words.value = this.q = state.q;
    const chips = [];
    URL.revokeObjectURL(this.url);
    this.url = state.image && URL.createObjectURL(state.image);
    if (state.image) chips.push(this.chip("", t("your.image"), { image: null }, isSound(state.image) ? null : make("img", { src: this.url, alt: "", onerror: ({ target }) => target.remove() })));
    for (const sign of ["like", "unlike"])
      if (state[sign].length > 3) chips.push(this.chip(sign, t(`${sign}.one`, { name: counted(state[sign].length) }), { [sign]: [] }));
      else for (const id of state[sign]) chips.push(this.exampleChip(sign, id, state[sign]));
    find("#chips").replaceChildren(...chips);
    this.words.placeholder = chips.length ? t("words.more") : t("placeholder");
  }

  /** What is asked besides words; taking it away changes the question so. */
  chip(sign, text, change, image = null) {
    return make("span", { className: `chip ${sign}` }, image, make("span", text), iconButton("close", t("remove", { name: text }), () => this.app.change(change)));
  }

  exampleChip(sign, id, all) {
    const change = { [sign]: all.filter((one) => one !== id) };
    const chip = this.chip(sign, t(`${sign}.one`, { name: id }), change);
    this.app.api.item(id).then(async (item) => {
      const name = t(`${sign}.one`, { name: textOf(item) || item.item });
      chip.firstChild.textContent = name;
      chip.lastChild.title = chip.lastChild.ariaLabel = t("remove", { name });
      if (item.media) chip.prepend(await this.app.api.show(make("img", { alt: "" }), item.media));
    }, () => {});
    return chip;
  }
}

/** Why a file cannot be searched with or added, if it cannot. */
export function fileProblem(file, limit) {
  if (!file?.type.startsWith("image/") && !(file && isSound(file))) return t("not.image");
  return file.size > limit ? t("too.large", { n: Math.floor(limit / 2 ** 20) }) : "";
}

/** What the server has to say about a question: did you mean, ignored words, nothing close enough. */
export function showNotices(app, { ignored = [], did_you_mean: meant, nothing_close: far, corrected, hits } = {}) {
  const link = (text, change) => make("a", {
    href: toAddress(app.changed(change)),
    onclick(event) {
      if (isNewTab(event)) return;
      event.preventDefault();
      app.change(change);
    },
  }, text);
  const around = (key, element) => t(key, { words: "\0" }).split("\0").toSpliced(1, 0, element);
  const lines = [];
  if (meant && corrected) lines.push(make("p.meant", around("showing.for", make("strong", meant)), " ", link(t("as.typed"), { exact: true })));
  else if (meant) lines.push(make("p.meant", around("meant", link(meant, { q: meant }))));
  if (ignored.length) lines.push(make("p.ignored", t("ignored", { words: ignored.join(", ") })));
  find("#notices").replaceChildren(...lines);
  find("#nearest").hidden = !(far && hits.length);
}
