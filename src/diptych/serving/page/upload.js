// Add images and texts: several at once, each with its progress and its own error.

import { failure, itemAddress } from "/page/api.js";
import { fieldOf } from "/page/audio.js";
import { button, icon, iconButton, make } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { fileProblem } from "/page/query.js";
import { classInput, showForm } from "/page/saved.js";

const stemOf = (name) => name.replace(/\.[^.]+$/, "");

export class Upload {
  rows = [];

  constructor(app) {
    Object.assign(this, { app, api: app.api });
  }

  open(files) {
    this.list = make("ul.uploads");
    const [label, choices] = classInput(this.app.filters.classes, "choices", { ariaLabel: t("class") });
    const input = make("input.unseen", { type: "file", multiple: true, accept: "image/*,audio/*,.txt,text/plain", id: "upload-files", onchange: () => this.take(input.files) });
    Object.assign(this, { label, start: make("button.primary") });
    const dialog = showForm(t("upload.title"), [
      input,
      make("label.zone", { htmlFor: "upload-files" }, icon("download"), make("span", t("upload.drop"))),
      button(t("upload.text"), () => this.row(`text-${Date.now().toString(36)}`, null)),
      this.list,
      make("label.choice", t("class"), label, choices),
      make("div.actions", this.start),
    ], () => this.send(), "wide adding");
    dialog.ondragover = (event) => event.preventDefault();
    dialog.ondrop = (event) => {
      event.preventDefault();
      this.take(event.dataTransfer.files);
    };
    this.count();
    this.take(files);
    input.focus();
  }

  /** A text beside an image of the same name is the image's. */
  async take(files) {
    const isText = (file) => file.type === "text/plain" || file.name.endsWith(".txt");
    const all = [...files];
    for (const file of all.filter((one) => !isText(one))) this.row(stemOf(file.name), file);
    for (const file of all.filter(isText)) {
      const words = (await file.text()).trim();
      const pair = this.rows.find((row) => row.file && row.name === stemOf(file.name) && !row.text.value);
      if (pair) pair.text.value = words;
      else this.row(stemOf(file.name), null, words);
    }
  }

  row(name, file, words = "") {
    const text = make("textarea", { rows: file ? 1 : 2, value: words, placeholder: t("text"), maxLength: 10_000, ariaLabel: t("upload.words.of", { name }), oninput: () => this.count() });
    const bar = make("progress", { max: 1, value: 0, hidden: true, ariaLabel: name });
    const said = make("p.said", { role: "status" });
    const row = { name, file, text, bar, said, state: "new" };
    const picture = file?.type.startsWith("image/") ? make("img", { alt: "", src: URL.createObjectURL(file), onload: ({ target }) => URL.revokeObjectURL(target.src) }) : make("span.no-image", "“ ”");
    row.drop = iconButton("close", t("remove", { name }), () => {
      this.rows = this.rows.filter((one) => one !== row);
      row.line.remove();
      this.count();
    });
    row.line = make("li", { "data-name": name }, picture, make("div", make("strong", name), text, bar, said), row.drop);
    this.rows.push(row);
    this.list.append(row.line);
    const wrong = file && fileProblem(file, this.app.limit);
    this.set(row, wrong ? "failed" : "new", wrong || "");
  }

  /** What has become of a row, and what is said about it. */
  set(row, state, ...said) {
    row.state = row.line.className = state;
    row.bar.hidden = state !== "sending";
    row.said.replaceChildren(...said);
    row.drop.hidden = state === "done";
    this.count();
  }

  get waiting() {
    return this.rows.filter((row) => row.state === "new" && (row.file || row.text.value.trim()));
  }

  count() {
    const n = this.waiting.length;
    this.start.disabled = !n;
    this.start.textContent = n ? t("upload.start", { n }) : t("add");
  }

  async send() {
    let count = 0;
    for (const row of this.waiting) count += await this.sendRow(row, false);
    if (count) this.app.actions.added();
  }

  /** Promises whether it was taken. */
  async sendRow(row, replace) {
    const text = row.text.value.trim() || undefined;
    const metadata = { item: row.name, added: `${new Date().toISOString().slice(0, 19)}Z`, label: this.label.value.trim() || undefined };
    this.set(row, "sending");
    try {
      if (row.file) await this.sendFile(row, fieldOf(row.file), { ...metadata, text }, replace);
      if (text) await this.api.send("POST", "/v1/items", { items: [{ id: `text:${row.name}`, text, metadata }], replace });
    } catch (error) {
      const again = button(t("replace"), async () => (await this.sendRow(row, true)) && this.app.actions.added());
      this.set(row, "failed", ...(error.code === "exists" ? [t("upload.exists"), " ", again] : [error.message]));
      return false;
    }
    this.set(row, "done", t("upload.added"));
    return true;
  }

  /** Only this old way of asking tells how much has been sent. */
  sendFile(row, kind, metadata, replace) {
    const id = `${kind}:${row.name}`;
    const form = new FormData();
    form.append(kind, row.file, row.file.name);
    form.append("item", JSON.stringify(replace ? { metadata } : { id, metadata }));
    const request = new XMLHttpRequest();
    request.open(replace ? "PUT" : "POST", replace ? itemAddress(id) : "/v1/items");
    for (const [name, value] of Object.entries(this.api.headers())) request.setRequestHeader(name, value);
    request.responseType = "json";
    return new Promise((done, failed) => {
      request.upload.onprogress = ({ loaded, total }) => (row.bar.value = (0.9 * loaded) / (total || 1));
      request.onerror = () => failed(new Error(t("offline")));
      request.onload = () => (request.status < 300 ? done() : failed(failure(request.status, request.response)));
      request.send(form);
    });
  }
}
