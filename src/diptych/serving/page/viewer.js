// One item looked at closely: large, with all that is known of it, the one before and the one after.

import { player } from "/page/audio.js";
import { button, find, icon, iconButton, make, percent } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { isMedia, kindOf } from "/page/kinds.js";
import { figures, labelsOf, nameOf, reason, tagsOf, textOf } from "/page/results.js";
import { marked, plain } from "/page/words.js";

const TITLE = 90;
const SHOWN = new Set(["text", "title", "label", "labels", "split", "item", "document", "has_media", "guess"]);

export class Viewer {
  /** `actions`: like, remove, edit(hit, change), select, step(by) → hit or null, closed; `writes()` as everywhere. */
  constructor(api, actions, writes) {
    Object.assign(this, { api, actions, writes, hit: null });
    this.dialog = find("#viewer");
    this.dialog.addEventListener("close", () => this.isOpen || this.leave());
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.close());
    this.dialog.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.preventDefault();
        this.close();
      }
      if (event.target.closest("input, textarea")) return;
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) this.step(by);
    });
  }

  get isOpen() {
    return this.dialog.open;
  }

  /** Close at once: the browser tells of it only after the next key, which must find the focus on the card. */
  close() {
    this.dialog.close();
    this.leave();
  }

  leave() {
    if (!this.dialog.hasChildNodes()) return;
    this.dialog.replaceChildren();
    this.actions.closed(this.hit);
  }

  async step(by) {
    const next = await this.actions.step(this.hit, by);
    if (next && this.isOpen) this.open(next);
  }

  open(hit, place = "") {
    const focused = document.activeElement?.dataset?.step;
    this.hit = hit;
    const text = textOf(hit);
    const words = hit.why?.words ?? [];
    const name = plain(hit.metadata.title) || (text.length <= TITLE ? text : `${text.slice(0, TITLE).trimEnd()}…`) || hit.item || hit.id;
    const media = isMedia(hit);
    const stage = make("div", { class: "sight" }, kindOf(hit).view(hit, { api: this.api, name: nameOf(hit), full: text || name, words }));
    const turn = (image, label, by) => iconButton(image, t(label), () => this.step(by), { class: `icon turn ${image}`, "data-step": image });
    const sound = player(hit, { api: this.api, name }, true);
    stage.append(...(sound ? [sound] : []), turn("previous", "previous", -1), turn("next", "next", 1));
    const full = media && text && text !== name ? make("p", { class: "full", tabIndex: 0 }, ...marked(text, words)) : null;
    const panel = make(
      "div",
      { class: "facts" },
      make("div", { class: "head" }, make("h2", { id: "viewer-title" }, ...marked(name, words)), iconButton("close", t("close"), () => this.close(), { class: "icon close" })),
      full,
      this.labels(hit),
      this.facts(hit),
      this.group(hit),
      this.buttons(hit),
    );
    this.dialog.replaceChildren(stage, panel);
    if (!this.dialog.open) this.dialog.showModal();
    (find(`[data-step="${focused}"]`, this.dialog) ?? find(".turn.next", this.dialog)).focus();
  }

  labels(hit) {
    return make("div", { class: "tags" }, ...tagsOf(hit.metadata));
  }

  facts(hit) {
    const { metadata } = hit;
    const likely = hit.probability === null || hit.probability === undefined ? null : t("likely", { p: percent(hit.probability) });
    const facts = [
      [t("fact.belongs"), likely],
      [t("fact.why"), [reason(hit), figures(hit)].filter(Boolean).join(" · ")],
      ...Object.entries(metadata).filter(([key]) => !SHOWN.has(key)).map(([key, value]) => [key, written(value)]),
      [t("fact.item"), hit.item || hit.id],
    ].filter(([, value]) => value !== null && value !== undefined && value !== "");
    return make("dl", {}, ...facts.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, plain(value))]));
  }

  group(hit) {
    if (!hit.group?.length) return null;
    const others = hit.group.map((one) => {
      const small = make("img", { alt: nameOf(one) });
      this.api.show(small, one.media);
      return make("button", { type: "button", class: "twin", onclick: () => this.open({ ...one, group: null }) }, small);
    });
    return make("div", { class: "twins" }, make("h3", {}, t("duplicates", { n: hit.group.length })), ...others);
  }

  buttons(hit) {
    const act = (name, image, run, kind = "") => make("button", { type: "button", class: kind, onclick: run }, icon(image), t(name));
    const write = this.writes()
      ? [act("edit", "edit", () => this.edit(hit)), act("delete", "remove", () => { this.close(); this.actions.remove([hit]); }, "danger")]
      : [];
    return make(
      "div",
      { class: "actions" },
      act("like", "alike", () => { this.close(); this.actions.like(hit); }, "primary like"),
      act("select.one", "check", () => this.actions.select(hit)),
      hit.media ? act("download", "download", () => this.actions.download(hit)) : null,
      ...write,
    );
  }

  /** Text and label in place of what was shown. */
  edit(hit) {
    const text = make("textarea", { rows: 5, value: textOf(hit), maxLength: 10_000 });
    const label = make("input", { value: labelsOf(hit.metadata).join("; "), maxLength: 200 });
    const wrong = make("p", { class: "wrong", role: "alert", hidden: true });
    const form = make(
      "form",
      { class: "edit" },
      make("label", {}, t("text"), text),
      make("label", {}, t("class"), label),
      wrong,
      make("div", { class: "actions" }, make("button", { class: "primary" }, t("save.changes")), button(t("cancel"), () => this.open(this.hit))),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const change = { metadata: {} };
      if (text.value.trim() && text.value !== textOf(hit)) change.text = text.value.trim();
      const given = label.value.split(";").map((one) => one.trim()).filter(Boolean);
      if (given.join("; ") !== labelsOf(hit.metadata).join("; ")) change.metadata.label = given.length > 1 ? given : (given[0] ?? null);
      try {
        const changed = await this.actions.edit(hit, change);
        if (form.isConnected) this.open(changed);
      } catch (error) {
        wrong.hidden = false;
        wrong.textContent = error.message;
      }
    });
    find(".facts", this.dialog).replaceChildren(make("h2", { id: "viewer-title" }, t("edit")), form);
    text.focus();
  }
}

const written = (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? ""));
