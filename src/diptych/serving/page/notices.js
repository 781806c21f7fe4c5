// What the server has to say about a question: did you mean, ignored words, nothing close enough.

import { find, make } from "/page/dom.js";
import { t } from "/page/i18n.js";

export class Notices {
  /** `address(change)` is where a question that differs so lives; `asked(change)` asks it. */
  constructor({ address, asked }) {
    this.address = address;
    this.asked = asked;
  }

  clear() {
    find("#notices").replaceChildren();
    find("#nearest").hidden = true;
  }

  show({ ignored = [], did_you_mean: meant = null, nothing_close: far = false, corrected = false, hits }) {
    const lines = [];
    if (meant && corrected) {
      const typed = this.link({ exact: true }, t("as.typed"));
      lines.push(make("p", { class: "meant" }, ...around("showing.for", make("strong", {}, meant)), " ", typed));
    } else if (meant) lines.push(make("p", { class: "meant" }, ...around("meant", this.link({ q: meant }, meant))));
    if (ignored.length) lines.push(make("p", { class: "ignored" }, t("ignored", { words: ignored.join(", ") })));
    find("#notices").replaceChildren(...lines);
    find("#nearest").hidden = !(far && hits.length);
  }

  link(change, text) {
    const link = make("a", { href: this.address(change) }, text);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // a new tab is the browser's
      event.preventDefault();
      this.asked(change);
    });
    return link;
  }
}

/** A sentence with an element where its "{words}" stands. */
function around(key, element) {
  const [before, after = ""] = t(key, { words: "\u0000" }).split("\u0000");
  return [before, element, after];
}
