// What is selected, in any view, and what can be done with it.

import { button, find, icon, iconButton, make, save } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { labelsOf, textOf } from "/page/results.js";
import { MOST_EXAMPLES } from "/page/state.js";

const MOST_IN_ZIP = 500;
const AT_ONCE = 6;

export class Selection {
  chosen = new Map();
  listeners = [() => this.show()];

  constructor(app) {
    this.app = app;
  }

  get size() {
    return this.chosen.size;
  }

  get hits() {
    return [...this.chosen.values()];
  }

  changed(listener) {
    this.listeners.push(listener);
  }

  has(hit) {
    return this.chosen.has(hit.id);
  }

  add(hits) {
    for (const hit of hits) this.chosen.set(hit.id, hit);
    this.tell();
  }

  toggle(hit) {
    if (!this.chosen.delete(hit.id)) this.chosen.set(hit.id, hit);
    this.tell();
  }

  clear() {
    this.chosen.clear();
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener();
  }

  /** The bar with what can be done. */
  show() {
    const { hits, size } = this;
    const { actions, writes } = this.app;
    find("#selected").hidden = !size;
    document.body.classList.toggle("has-selection", size > 0);
    const act = (name, text, run, className = "") => button([icon(name), make("span", text)], run, { className });
    find("#selected").replaceChildren(
      make("strong", { role: "status" }, t("selected", { n: size })),
      act("like", t("like.these"), () => actions.refine("like", hits)),
      act("unlike", t("unlike.these"), () => actions.refine("unlike", hits)),
      act("download", "ZIP", () => actions.download("zip", hits)),
      act("download", "CSV", () => actions.download("csv", hits)),
      ...(writes ? [act("label", t("label"), () => actions.label(hits)), act("remove", t("delete"), () => actions.remove(hits), "danger")] : []),
      iconButton("close", t("clear"), () => this.clear()),
    );
  }
}

/** The items that lead a query: of very many an even choice. */
export function examplesOf(hits) {
  const step = Math.max(1, hits.length / MOST_EXAMPLES);
  return Array.from({ length: Math.min(hits.length, MOST_EXAMPLES) }, (_, place) => hits[Math.floor(place * step)].id);
}

const cell = (value) => {
  const text = typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // a spreadsheet runs what begins so
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export function csvOf(hits) {
  const own = ["text", "label", "item", "has_media", "document"];
  const keys = [...new Set(hits.flatMap((hit) => Object.keys(hit.metadata ?? {})))].filter((key) => !own.includes(key)).sort();
  const rows = hits.map((hit) => [hit.item, hit.id, labelsOf(hit.metadata).join("; "), textOf(hit), hit.probability, hit.score, ...keys.map((key) => hit.metadata[key])]);
  return [["item", "id", "label", "text", "probability", "score", ...keys], ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** What `act` promises of each, a few at a time; null where it fails. `tell(share)` hears of the progress. */
async function ofEach(hits, act, tell = () => {}) {
  const found = [];
  while (found.length < hits.length) {
    found.push(...(await Promise.all(hits.slice(found.length, found.length + AT_ONCE).map((hit) => act(hit).catch(() => null)))));
    tell(found.length / hits.length);
  }
  return found.filter(Boolean);
}

/** Hand over the images and a table of them. Returns how many were left out. */
export async function download(api, kind, hits, tell) {
  const name = `diptych-${new Date().toISOString().slice(0, 10)}.${kind}`;
  const wanted = kind === "zip" ? hits.slice(0, MOST_IN_ZIP) : hits;
  const some = await ofEach(wanted, async (hit) => (hit.metadata ? hit : api.item(hit.id))); // the map knows only ids
  if (kind === "csv") save(new Blob(["\ufeff", csvOf(some)], { type: "text/csv" }), name);
  if (kind === "csv") return hits.length - some.length;
  const media = some.filter((hit) => hit.media);
  const files = await ofEach(media, (hit) => original(api, hit), tell);
  const { zipped } = await import("/page/zip.js");
  save(zipped([{ name: "items.csv", data: new TextEncoder().encode(csvOf(some)) }, ...files]), name);
  return media.length - files.length + hits.length - some.length;
}

async function original(api, hit) {
  const response = await api.fetch(`${hit.media}?size=original`);
  const [, ending = "bin"] = /^image\/(jpeg|png|webp|gif|avif|bmp)/.exec(response.headers.get("content-type")) ?? [];
  const stem = (hit.item || hit.id).replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/\.(jpe?g|png|webp|gif|avif|bmp)$/i, "").slice(-80);
  return { name: `${stem}.${ending.replace("jpeg", "jpg")}`, data: new Uint8Array(await response.arrayBuffer()) };
}

/** Say something for a while, with at most one thing to do about it; returns a function that takes it away. */
export function toast(words, { action, run, seconds = 6 } = {}) {
  const box = make("div.toast", make("span", words));
  const end = () => box.remove();
  if (action) box.append(button(action, () => { end(); run(); }));
  box.append(iconButton("close", t("close"), end));
  find("#toasts").append(box);
  if (seconds) setTimeout(end, seconds * 1000);
  return Object.assign(end, { say: (text) => (box.firstChild.textContent = text) });
}
