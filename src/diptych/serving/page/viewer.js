// One item looked at closely: large, with all that is known of it, the one before and the one after.

import { player } from "/page/audio.js";
import { button, find, icon, iconButton, make, percent } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { isMedia, kindOf } from "/page/kinds.js";
import { figures, labelsOf, nameOf, reason, tagsOf, textOf } from "/page/results.js";
import { marked, plain } from "/page/words.js";

const TITLE = 90;
const SHOWN = ["text", "title", "label", "labels", "split", "item", "document", "has_media", "guess"];

const LINK = /^https?:\/\/\S+$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:/;

/** A value of the metadata as people write it. */
function written(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  if (TIME.test(value) && !Number.isNaN(Date.parse(value))) return new Date(value).toLocaleString(document.documentElement.lang);
  return String(value ?? "");
}

export class Viewer {
  dialog = find("#viewer");

  constructor(app) {
    this.app = app;
    this.dialog.onclose = () => this.isOpen || this.leave();
    this.dialog.onclick = (event) => {
      if (event.target === this.dialog) this.close();
    };
    this.dialog.onkeydown = (event) => {
      if (event.key === "Escape") {
        event.preventDefault();
        this.close();
      }
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by && !event.target.closest("input, textarea")) this.step(by);
    };
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
    this.app.actions.closed(this.hit);
  }

  async step(by) {
    const next = await this.app.actions.step(this.hit, by);
    if (next && this.isOpen) this.open(next);
  }

  open(hit) {
    const focused = document.activeElement?.dataset?.step;
    const { api } = this.app;
    this.hit = hit;
    const text = textOf(hit);
    const words = hit.why?.words ?? [];
    const [first, ...rest] = (plain(hit.metadata.title) || text).split("\n");
    const name = (first.length <= TITLE ? first : `${first.slice(0, TITLE).trimEnd()}…`) || hit.item || hit.id;
    const more = text.startsWith(name) && first === name ? rest.join("\n") : text;
    const turn = (way, by) => iconButton(way, t(way), () => this.step(by), { className: `icon turn ${way}`, "data-step": way, hidden: !this.app.actions.canStep(hit, by) });
    this.dialog.replaceChildren(
      make("div.sight", kindOf(hit).view(hit, { api, name: nameOf(hit), full: text || name, words }), player(hit, { api, name }, true), turn("previous", -1), turn("next", 1)),
      make(
        "div.facts",
        make("div.head", make("h2", { id: "viewer-title" }, marked(name, words)), iconButton("close", t("close"), () => this.close())),
        isMedia(hit) && more ? make("p.full", { tabIndex: 0 }, marked(more, words)) : null,
        tagsOf(hit.metadata),
        this.facts(hit),
        this.twins(hit),
        this.buttons(hit),
      ),
    );
    if (!this.isOpen) this.dialog.showModal();
    const [turned, ...others] = [`[data-step="${focused ?? "next"}"]`, "[data-step]", ".actions button"].map((one) => find(`${one}:not([hidden])`, this.dialog));
    (turned ?? others.find(Boolean)).focus();
  }

  facts(hit) {
    const likely = typeof hit.probability === "number" ? t("likely", { p: percent(hit.probability) }) : "";
    const facts = [
      [t("fact.why"), [likely, reason(hit), figures(hit)].filter(Boolean).join(" · ")],
      ...Object.entries(hit.metadata).filter(([key]) => !SHOWN.includes(key)).map(([key, value]) => [key, written(value)]),
      [t("fact.item"), hit.item || hit.id],
    ];
    return make("dl", facts.filter(([, value]) => value).flatMap(([key, value]) => [make("dt", key), make("dd", LINK.test(value) ? make("a", { href: value, target: "_blank", rel: "noopener noreferrer" }, value) : plain(value))]));
  }

  /** Its near-duplicates. */
  twins({ group }) {
    if (!group?.length) return null;
    const others = group.map((one) => {
      const small = make("img", { alt: nameOf(one) });
      this.app.api.show(small, one.media);
      return button(small, () => this.open({ ...one, group: null }), { className: "twin" });
    });
    return make("div.twins", make("h3", t("duplicates", { n: group.length })), others);
  }

  buttons(hit) {
    const { actions, selection, writes } = this.app;
    const act = (image, key, run, className = "") => button([icon(image), t(key)], run, { className });
    const leaving = (run) => () => {
      this.close();
      run();
    };
    return make(
      "div.actions",
      act("alike", "like", leaving(() => actions.like(hit)), "primary like"),
      act("check", "select", () => selection.toggle(hit)),
      hit.media ? act("download", "download", () => actions.download("zip", [hit])) : null,
      writes ? [act("edit", "edit", () => this.edit(hit)), act("remove", "delete", leaving(() => actions.remove([hit])), "danger")] : null,
    );
  }

  /** Text and label in place of what was shown. */
  edit(hit) {
    const before = labelsOf(hit.metadata).join("; ");
    const text = make("textarea", { rows: 5, value: textOf(hit), maxLength: 10_000 });
    const label = make("input", { value: before, maxLength: 200 });
    const wrong = make("p.wrong", { role: "alert", hidden: true });
    const onsubmit = async (event) => {
      event.preventDefault();
      const change = { metadata: {} };
      if (text.value.trim() && text.value !== textOf(hit)) change.text = text.value.trim();
      const given = label.value.split(";").map((one) => one.trim()).filter(Boolean);
      if (given.join("; ") !== before) change.metadata.label = given.length > 1 ? given : (given[0] ?? null);
      try {
        const changed = await this.app.actions.edit(hit, change);
        if (form.isConnected) this.open(changed);
      } catch (error) {
        wrong.hidden = false;
        wrong.textContent = error.message;
      }
    };
    const form = make("form.edit", { onsubmit }, make("label", t("text"), text), make("label", t("class"), label), wrong,
      make("div.actions", make("button.primary", t("save.changes")), button(t("cancel"), () => this.open(hit))));
    find(".facts", this.dialog).replaceChildren(make("h2", { id: "viewer-title" }, t("edit")), form);
    text.focus();
  }
}
