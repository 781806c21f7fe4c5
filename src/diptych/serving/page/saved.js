// Saved searches: a name and an address each, kept in this browser.

import { button, find, icon, iconButton, kept, make } from "/page/dom.js";
import { t } from "/page/i18n.js";

/** Ask for one line of text; promises it, or null. `choices` are offered while typing. */
export function askText(title, { value = "", choices = [], go = t("save.changes") } = {}) {
  const dialog = find("#form");
  const input = make("input", { value, maxLength: 200, required: true, "aria-label": title });
  if (choices.length) input.setAttribute("list", "choices");
  const list = make("datalist", { id: "choices" }, ...choices.map((one) => make("option", { value: one })));
  const form = make("form", {}, make("h2", { id: "form-title" }, title), input, list, make("div", { class: "actions" }, make("button", { class: "primary" }, go), button(t("cancel"), () => dialog.close())));
  dialog.className = "";
  dialog.replaceChildren(form);
  dialog.showModal();
  input.select();
  return new Promise((given) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      given(input.value.trim() || null); // at once: the browser tells of a closed dialog only later
      dialog.close();
    });
    dialog.addEventListener("close", () => given(null), { once: true });
  });
}

export class Saved {
  /** `go(address)` asks a saved search. */
  constructor(go) {
    this.go = go;
    this.show();
  }

  get all() {
    return kept.get("saved", []).filter((one) => typeof one?.name === "string" && String(one.address).startsWith("/"));
  }

  async add(address, name) {
    const given = await askText(t("save.name"), { value: name });
    if (!given) return false;
    kept.set("saved", [...this.all.filter((one) => one.name !== given), { name: given, address }]);
    this.show();
    return true;
  }

  show() {
    const { all } = this;
    const link = ({ name, address }) => {
      const anchor = make("a", { href: address }, icon("star"), name);
      anchor.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // a new tab is the browser's
        event.preventDefault();
        find("#menu").open = false;
        this.go(address);
      });
      const forget = () => {
        kept.set("saved", this.all.filter((one) => one.name !== name));
        this.show();
      };
      return make("li", {}, anchor, iconButton("close", t("remove", { name }), forget));
    };
    find("#saved").replaceChildren(...(all.length ? all.map(link) : [make("li", { class: "quiet" }, t("saved.none"))]));
  }
}
