// One result, looked at closely.

import { find, make, percent } from "/page/dom.js";
import { labelsOf, reason } from "/page/results.js";
import { marked, plain } from "/page/words.js";

const TITLE = 90;
const SHOWN = new Set(["text", "title", "label", "labels", "split", "item", "document", "has_media"]);

export class Detail {
  constructor(api, like) {
    this.api = api;
    this.dialog = find("#detail");
    this.hit = null;
    find(".like", this.dialog).addEventListener("click", () => {
      this.dialog.close();
      like(this.hit);
    });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // a click beside it
    });
  }

  open(hit) {
    this.hit = hit;
    const { metadata } = hit;
    const text = plain(metadata.text);
    const name = plain(metadata.title) || (text.length <= TITLE ? text : `${text.slice(0, TITLE).trimEnd()}…`) || hit.item || hit.id;
    this.image(hit, name);
    find("h2", this.dialog).replaceChildren(...marked(name, hit.why?.words ?? []));
    find(".full", this.dialog).replaceChildren(...(text && text !== name ? marked(text, hit.why?.words ?? []) : []));
    const facts = [
      ["Class", labelsOf(metadata).join(", ")],
      ["Belongs", hit.probability === null || hit.probability === undefined ? null : `${percent(hit.probability)} likely`],
      ["Why", reason(hit)],
      ["Score", hit.score?.toFixed(3)],
      ...Object.entries(metadata).filter(([key]) => !SHOWN.has(key)).map(([key, value]) => [key, written(value)]),
      ["Split", metadata.split],
      ["Item", hit.item || hit.id],
    ].filter(([, value]) => value !== null && value !== undefined && value !== "");
    const rows = facts.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, plain(value))]);
    find("dl", this.dialog).replaceChildren(...rows);
    this.dialog.showModal();
  }

  /** The thumbnail at once, the original in its place as soon as it is there; if it is gone, the thumbnail stays. */
  image(hit, name) {
    const frame = find(".image", this.dialog);
    frame.replaceChildren();
    frame.hidden = !hit.media;
    if (!hit.media) return;
    const small = make("img", { alt: name, class: "small" });
    const large = make("img", { alt: name });
    large.addEventListener("load", () => small.isConnected && small.replaceWith(large), { once: true });
    small.addEventListener("error", () => (frame.hidden = !find("img:not(.small)", frame)), { once: true });
    frame.append(small);
    this.api.show(small, hit.media);
    this.api.show(large, `${hit.media}?size=original`);
  }
}

const written = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? ""));
