// Add images and texts: several at once, each with its progress and its own error.

import { fieldOf, isSound } from "/page/audio.js";
import { button, find, icon, iconButton, make } from "/page/dom.js";
import { t } from "/page/i18n.js";

const stemOf = (name) => name.replace(/\.[^.]+$/, "");

export class Upload {
  /** `done(count)` hears how many items were added. */
  constructor(api, done) {
    Object.assign(this, { api, done, rows: [], limit: 20 * 2 ** 20 });
    this.dialog = find("#form");
  }

  open(classes = []) {
    this.rows = [];
    this.list = make("ul", { class: "uploads" });
    this.sum = make("p", { class: "quiet", role: "status" });
    this.label = make("input", { maxLength: 200, "aria-label": t("class") });
    this.label.setAttribute("list", "choices");
    const input = make("input", { type: "file", multiple: true, accept: "image/*,audio/*,.txt,text/plain", id: "upload-files", class: "unseen" });
    input.addEventListener("change", () => this.take(input.files));
    const zone = make("label", { class: "zone", htmlFor: "upload-files" }, icon("download"), make("span", {}, t("upload.drop")));
    this.start = make("button", { class: "primary", disabled: true }, t("upload.start", { n: 0 }));
    const form = make(
      "form",
      { class: "adding" },
      make("div", { class: "head" }, make("h2", { id: "form-title" }, t("upload.title")), iconButton("close", t("close"), () => this.dialog.close())),
      input,
      zone,
      button(t("upload.text"), () => this.row({ name: `text-${Date.now().toString(36)}`, file: null }), { class: "quietly" }),
      this.list,
      make("label", { class: "choice" }, t("upload.class"), this.label, make("datalist", { id: "choices" }, ...classes.map((one) => make("option", { value: one })))),
      this.sum,
      make("div", { class: "actions" }, this.start),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    form.addEventListener("dragover", (event) => event.preventDefault());
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      this.take(event.dataTransfer.files);
    });
    this.dialog.className = "wide";
    this.dialog.replaceChildren(form);
    this.dialog.showModal();
    input.focus();
  }

  /** A text beside an image of the same name is the image's. */
  async take(files) {
    const all = [...files];
    const texts = all.filter((file) => file.type === "text/plain" || file.name.endsWith(".txt"));
    for (const file of all.filter((one) => !texts.includes(one))) this.row({ name: stemOf(file.name), file });
    for (const file of texts) {
      const words = (await file.text()).trim();
      const pair = this.rows.find((row) => row.file && row.name === stemOf(file.name) && !row.text.value);
      if (pair) pair.text.value = words;
      else this.row({ name: stemOf(file.name), file: null, words });
    }
  }

  row({ name, file, words = "" }) {
    const text = make("textarea", { rows: file ? 1 : 2, value: words, placeholder: t("upload.words"), maxLength: 10_000, "aria-label": t("upload.words.of", { name }) });
    const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-label": t("upload.progress", { name }) });
    const said = make("p", { class: "said", role: "status" });
    const row = { name, file, text, bar, said, state: "new" };
    const picture = file?.type.startsWith("image/") ? make("img", { alt: "", src: URL.createObjectURL(file), onload: (event) => URL.revokeObjectURL(event.target.src) }) : make("span", { class: "no-image" }, "“ ”");
    row.drop = iconButton("close", t("remove", { name }), () => {
      this.rows = this.rows.filter((one) => one !== row);
      row.line.remove();
      this.count();
    });
    row.line = make("li", { "data-name": name }, picture, make("div", {}, make("strong", {}, name), text, bar, said), row.drop);
    this.rows.push(row);
    this.list.append(row.line);
    if (file && !file.type.startsWith("image/") && !isSound(file)) this.fail(row, t("not.image"));
    else if (file && file.size > this.limit) this.fail(row, t("too.large", { n: Math.floor(this.limit / 2 ** 20) }));
    text.addEventListener("input", () => this.count());
    this.count();
  }

  get open_() {
    return this.rows.filter((row) => row.state === "new" && (row.file || row.text.value.trim()));
  }

  count() {
    const { length } = this.open_;
    this.start.disabled = !length;
    this.start.textContent = t("upload.start", { n: length });
  }

  fail(row, words, again = null) {
    row.state = "failed";
    row.bar.hidden = true;
    row.line.className = "failed";
    row.said.replaceChildren(words, ...(again ? [" ", again] : []));
    this.count();
  }

  async send() {
    let count = 0;
    for (const row of this.open_) count += (await this.sendRow(row, false)) ? 1 : 0;
    this.sum.textContent = count ? t("upload.done", { n: count }) : "";
    if (count) this.done(count);
  }

  async sendRow(row, replace) {
    const words = row.text.value.trim();
    const metadata = { item: row.name, added: new Date().toISOString().slice(0, 19) + "Z" };
    if (this.label.value.trim()) metadata.label = this.label.value.trim();
    row.state = "sending";
    row.bar.hidden = false;
    try {
      if (row.file) await this.sendFile(row, fieldOf(row.file), { ...metadata, ...(words ? { text: words } : {}) }, replace);
      if (words) await this.api.send("POST", "/v1/items", { items: [{ id: `text:${row.name}`, text: words, metadata }], replace });
    } catch (error) {
      const again = error.code === "exists" ? button(t("replace"), async () => (await this.sendRow(row, true)) && this.done(1)) : null;
      this.fail(row, error.code === "exists" ? t("upload.exists") : error.message, again);
      return false;
    }
    row.state = "done";
    row.line.className = "done";
    row.bar.value = 1;
    row.said.replaceChildren(t("upload.added"));
    row.drop.hidden = true;
    this.count();
    return true;
  }

  /** Only this old way of asking tells how much has been sent. */
  sendFile(row, kind, metadata, replace) {
    const id = `${kind}:${row.name}`;
    const form = new FormData();
    form.append(kind, row.file, row.file.name);
    form.append("item", JSON.stringify(replace ? { metadata } : { id, metadata }));
    const request = new XMLHttpRequest();
    request.open(replace ? "PUT" : "POST", replace ? `/v1/items/${encodeURIComponent(id)}` : "/v1/items");
    for (const [name, value] of Object.entries(this.api.headers())) request.setRequestHeader(name, value);
    return new Promise((done, failed) => {
      request.upload.addEventListener("progress", (event) => (row.bar.value = 0.9 * (event.loaded / (event.total || 1))));
      request.addEventListener("error", () => failed(new Error(t("offline"))));
      request.addEventListener("load", () => {
        if (request.status < 300) return done();
        let told = {};
        try {
          told = JSON.parse(request.responseText).error;
        } catch {
          told = { message: t("error.status", { status: String(request.status) }) };
        }
        return failed(Object.assign(new Error(told.message), { code: told.code }));
      });
      request.send(form);
    });
  }
}
