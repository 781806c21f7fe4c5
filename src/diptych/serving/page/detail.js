// One result, looked at closely.

import { find, make, percent } from "/page/dom.js";
import { labelsOf } from "/page/results.js";

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
    const text = metadata.text ?? hit.id;
    const picture = find(".picture", this.dialog);
    picture.replaceChildren();
    if (hit.media) {
      const image = make("img", { alt: text });
      image.addEventListener("error", () => this.api.show(image, hit.media), { once: true });
      this.api.show(image, `${hit.media}?size=original`);
      picture.append(image);
    }
    find("h2", this.dialog).textContent = text;
    const facts = [
      ["Class", labelsOf(metadata).join(", ")],
      ["Split", metadata.split],
      ["Belongs", hit.probability === null ? null : `${percent(hit.probability)} likely`],
      ["Score", hit.score.toFixed(3)],
      ["Id", hit.id],
    ].filter(([, value]) => value !== null && value !== undefined && value !== "");
    const rows = facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, String(value))]);
    find("dl", this.dialog).replaceChildren(...rows);
    this.dialog.showModal();
  }
}
