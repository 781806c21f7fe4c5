// The search box: words, images that are chosen, dropped or pasted, and chips for what else is asked.

import { find, make } from "/page/dom.js";
import { Suggestions } from "/page/suggest.js";
import { plain } from "/page/words.js";

export class QueryBox {
  /** `changed(part of the state)` is called when the person asks something new. */
  constructor(api, changed) {
    this.api = api;
    this.changed = changed;
    this.limit = 20 * 2 ** 20;
    this.words = find("#words");
    this.url = null;
    this.suggestions = new Suggestions(api, this.words, (q) => changed({ q, view: "search" }));
    find("#query").addEventListener("submit", (event) => {
      event.preventDefault();
      this.suggestions.close();
      changed({ q: this.words.value.trim(), view: "search" });
    });
    find("#choose").addEventListener("click", () => find("#file").click());
    find("#file").addEventListener("change", (event) => {
      this.take(event.target.files);
      event.target.value = "";
    });
    this.listenToPage();
  }

  listenToPage() {
    document.addEventListener("paste", (event) => {
      if (event.clipboardData?.files.length) {
        event.preventDefault();
        this.take(event.clipboardData.files);
      }
    });
    const veil = find("#dropping");
    const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
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
    const image = [...files].find((file) => file.type.startsWith("image/"));
    if (!image) return this.changed({}, "That file is not an image.");
    if (image.size > this.limit)
      return this.changed({}, `That image is larger than the ${Math.floor(this.limit / 2 ** 20)} MB this server reads.`);
    return this.changed({ image, like: "", q: "", into: "", view: "search" });
  }

  examples(texts) {
    const box = find("#examples");
    box.replaceChildren(
      ...texts.map((text) => make("button", { type: "button", onclick: () => this.changed({ q: plain(text) }) }, plain(text))),
    );
  }

  show(state) {
    this.words.value = state.q;
    const chips = [];
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = state.image ? URL.createObjectURL(state.image) : null;
    if (state.image)
      chips.push(this.chip(make("img", { src: this.url, alt: "" }), "your image", { image: null }));
    if (state.like) chips.push(this.likeChip(state.like));
    find("#chips").replaceChildren(...chips);
    this.words.placeholder = chips.length ? "add words" : "Describe it, or drop an image";
  }

  chip(image, text, without) {
    const remove = () => this.changed(without);
    const cross = make("button", { type: "button", class: "icon", "aria-label": `Remove ${text}`, onclick: remove }, "×");
    return make("span", { class: "chip" }, image, make("span", {}, text), cross);
  }

  likeChip(id) {
    const image = make("img", { alt: "", hidden: true });
    const chip = this.chip(image, `like ${id}`, { like: "" });
    this.api.item(id).then(
      (item) => {
        find("span", chip).textContent = `like ${plain(item.metadata.text) || "this"}`;
        if (item.media) {
          image.hidden = false;
          this.api.show(image, item.media);
        }
      },
      () => {},
    );
    return chip;
  }
}
