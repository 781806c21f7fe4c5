// What the server has to say about a question: did you mean, ignored words, nothing close enough.

import { find, make } from "/page/dom.js";

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
      const typed = this.link({ exact: true }, "Search as typed");
      lines.push(make("p", { class: "meant" }, "Showing results for ", make("strong", {}, meant), ". ", typed));
    } else if (meant) lines.push(make("p", { class: "meant" }, "Did you mean ", this.link({ q: meant }, meant), "?"));
    if (ignored.length) lines.push(make("p", { class: "ignored" }, `Ignored: ${ignored.join(", ")}`));
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
