// Saved searches: a name and an address each, kept in this browser.

import { button, find, icon, iconButton, isNewTab, kept, make, options } from "/page/dom.js";
import { t } from "/page/i18n.js";

/** Show a form in the dialog for them; `sent` is called when it is submitted. */
export function showForm(title, content, sent, kind = "") {
  const dialog = find("#form");
  const onsubmit = (event) => {
    event.preventDefault();
    sent();
  };
  dialog.className = kind;
  dialog.replaceChildren(make("form", { onsubmit }, make("div.head", make("h2", { id: "form-title" }, title), iconButton("close", t("close"), () => dialog.close())), content));
  dialog.showModal();
  return dialog;
}

/** A box for a class, and the list of those that are known. */
export const classInput = (classes, id, properties = {}) => [make("input", { maxLength: 200, list: id, ...properties }), make("datalist", { id }, options(classes))];

/** Ask for one line of text; promises it, or null. `choices` are offered while typing. */
export function askText(title, { value = "", choices = [], go = t("save.changes") } = {}) {
  const [input, list] = classInput(choices, choices.length ? "choices" : "", { value, required: true, ariaLabel: title });
  return new Promise((given) => {
    const dialog = showForm(title, [input, list, make("div.actions", make("button.primary", go), button(t("cancel"), () => dialog.close()))], () => {
      given(input.value.trim() || null); // at once: the browser tells of a closed dialog only later
      dialog.close();
    });
    dialog.onclose = () => given(null);
    input.select();
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

  without(name) {
    return this.all.filter((one) => one.name !== name);
  }

  async add(address, value) {
    const name = await askText(t("save.name"), { value });
    if (name) this.keep([...this.without(name), { name, address }]);
    return name;
  }

  keep(all) {
    kept.set("saved", all);
    this.show();
  }

  show() {
    const rows = this.all.map(({ name, address }) => {
      const onclick = (event) => {
        if (isNewTab(event)) return;
        event.preventDefault();
        find("#menu").open = false;
        this.go(address);
      };
      return make("li", make("a", { href: address, onclick }, icon("star"), name), iconButton("close", t("remove", { name }), () => this.keep(this.without(name))));
    });
    find("#saved").replaceChildren(...(rows.length ? rows : [make("li.quiet", t("saved.none"))]));
  }
}
