// What is selected, in any view, and what can be done with it.

import { button, find, icon, make, number, save } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { labelsOf, textOf } from "/page/results.js";
import { MOST_EXAMPLES } from "/page/state.js";

const MOST_IN_ZIP = 500;
const AT_ONCE = 6;

export class Selection {
  constructor() {
    this.chosen = new Map();
    this.listeners = [];
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
    for (const listener of this.listeners) listener(this);
  }
}

/** The bar with what can be done; `writes()` says whether items may be changed. */
export class SelectionBar {
  constructor(selection, actions, writes) {
    Object.assign(this, { selection, actions, writes });
    this.bar = find("#selected");
    selection.changed(() => this.show());
  }

  show() {
    const { size } = this.selection;
    this.bar.hidden = !size;
    document.body.classList.toggle("has-selection", size > 0);
    if (!size) return;
    const act = (name, image, run, kind = "") => make("button", { type: "button", class: kind, onclick: run }, icon(image), make("span", {}, t(name)));
    const hits = this.selection.hits;
    this.bar.replaceChildren(
      make("strong", { role: "status" }, t("selected", { n: size })),
      act("like.these", "like", () => this.actions.refine("like", hits)),
      act("unlike.these", "unlike", () => this.actions.refine("unlike", hits)),
      act("download.zip", "download", () => this.actions.download("zip", hits)),
      act("download.csv", "download", () => this.actions.download("csv", hits)),
      ...(this.writes() ? [act("label", "label", () => this.actions.label(hits)), act("delete", "remove", () => this.actions.remove(hits), "danger")] : []),
      make("button", { type: "button", class: "icon", "aria-label": t("clear"), title: t("clear"), onclick: () => this.selection.clear() }, icon("close")),
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
  const own = new Set(["text", "label", "item", "has_media", "document"]);
  const keys = [...new Set(hits.flatMap((hit) => Object.keys(hit.metadata ?? {})))].filter((key) => !own.has(key)).sort();
  const rows = hits.map((hit) => [hit.item, hit.id, labelsOf(hit.metadata).join("; "), textOf(hit), hit.probability, hit.score, ...keys.map((key) => hit.metadata[key])]);
  return [["item", "id", "label", "text", "probability", "score", ...keys], ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Items that came from the map are known by id only: ask for the rest. */
export async function complete(api, hits) {
  const found = [];
  for (let start = 0; start < hits.length; start += AT_ONCE)
    found.push(...(await Promise.all(hits.slice(start, start + AT_ONCE).map((hit) => (hit.metadata ? hit : api.item(hit.id).catch(() => null))))));
  return found.filter(Boolean);
}

/** Hand over the images and a table of them; `tell(share)` hears of the progress. Returns how many were left out. */
export async function download(api, kind, hits, tell) {
  const day = new Date().toISOString().slice(0, 10);
  const some = await complete(api, kind === "zip" ? hits.slice(0, MOST_IN_ZIP) : hits);
  if (kind === "csv") {
    save(new Blob(["\ufeff", csvOf(some)], { type: "text/csv" }), `diptych-${day}.csv`);
    return 0;
  }
  const files = [{ name: "items.csv", data: new TextEncoder().encode(csvOf(some)) }];
  let failed = 0;
  const media = some.filter((hit) => hit.media);
  for (let start = 0; start < media.length; start += AT_ONCE) {
    const fetched = await Promise.all(media.slice(start, start + AT_ONCE).map((hit) => original(api, hit).catch(() => null)));
    failed += fetched.filter((one) => !one).length;
    files.push(...fetched.filter(Boolean));
    tell((start + fetched.length) / media.length);
  }
  const { zipped } = await import("/page/zip.js");
  save(zipped(files), `diptych-${day}.zip`);
  return failed + hits.length - some.length;
}

const ENDINGS = { "image/jpeg": "jpg", "image/png": "png", "image/webp": "webp", "image/gif": "gif", "image/avif": "avif", "image/bmp": "bmp" };

async function original(api, hit) {
  const response = await api.fetch(`${hit.media}?size=original`);
  const kind = (response.headers.get("content-type") ?? "").split(";")[0];
  const stem = (hit.item || hit.id).replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/\.(jpe?g|png|webp|gif|avif|bmp)$/i, "").slice(-80);
  return { name: `${stem}.${ENDINGS[kind] ?? "bin"}`, data: new Uint8Array(await response.arrayBuffer()) };
}

/** Say something for a while, with at most one thing to do about it; returns a function that takes it away. */
export function toast(words, { action, run, seconds = 6 } = {}) {
  const box = make("div", { class: "toast" }, make("span", {}, words));
  const end = () => box.remove();
  if (action) box.append(button(action, () => { end(); run(); }));
  box.append(make("button", { type: "button", class: "icon", "aria-label": t("close"), onclick: end }, icon("close")));
  find("#toasts").append(box);
  if (seconds) setTimeout(end, seconds * 1000);
  return Object.assign(end, { say: (text) => (find("span", box).textContent = text) });
}

export const counted = (n) => t("items", { n, count: number(n) });
