// Downloads: a table of items, and a ZIP archive of it and their files as they are: images are compressed already.

import { each } from "/page/api.js";
import { save } from "/page/dom.js";
import { labelsOf, textOf } from "/page/results.js";

const MOST_IN_ZIP = 500;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

export function crc32(data) {
  let sum = 0xffffffff;
  for (const byte of data) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Fields of an archive: a number and how many bytes it takes, in turn. */
function packed(...fields) {
  const bytes = [];
  for (let place = 0; place < fields.length; place += 2)
    for (let shift = 0; shift < fields[place + 1]; shift += 1) bytes.push((fields[place] >>> (8 * shift)) & 255);
  return Uint8Array.from(bytes);
}

const UTF8 = 0x0800;

/** `files` have a `name` and `data`; of two with the same name the second gets a number. */
export function zipped(files) {
  const seen = new Map();
  const [bodies, directory] = [[], []];
  let place = 0;
  let listed = 0;
  for (const { name, data } of files) {
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    const written = new TextEncoder().encode(before ? name.replace(/(\.[^.]*)?$/, `-${before + 1}$1`) : name);
    const about = [0, 2, 0, 2, 0x21, 2, crc32(data), 4, data.length, 4, data.length, 4, written.length, 2, 0, 2];
    const head = packed(0x04034b50, 4, 20, 2, UTF8, 2, ...about);
    const entry = packed(0x02014b50, 4, 20, 2, 20, 2, UTF8, 2, ...about, 0, 2, 0, 2, 0, 2, 0, 4, place, 4);
    bodies.push(head, written, data);
    directory.push(entry, written);
    place += head.length + written.length + data.length;
    listed += entry.length + written.length;
  }
  const end = packed(0x06054b50, 4, 0, 2, 0, 2, files.length, 2, files.length, 2, listed, 4, place, 4, 0, 2);
  return new Blob([...bodies, ...directory, end], { type: "application/zip" });
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

/** Hand over the images and a table of them. Returns how many were left out. */
export async function download(api, kind, hits, tell) {
  const name = `diptych-${new Date().toISOString().slice(0, 10)}.${kind}`;
  const wanted = kind === "zip" ? hits.slice(0, MOST_IN_ZIP) : hits;
  const { found: some } = await api.known(wanted, tell);
  if (kind === "csv") save(new Blob(["\ufeff", csvOf(some)], { type: "text/csv" }), name);
  if (kind === "csv") return hits.length - some.length;
  const media = some.filter((hit) => hit.media);
  const { found: files } = await each(media, (hit) => original(api, hit), tell);
  save(zipped([{ name: "items.csv", data: new TextEncoder().encode(csvOf(some)) }, ...files]), name);
  return media.length - files.length + hits.length - some.length;
}

async function original(api, hit) {
  const response = await api.fetch(`${hit.media}?size=original`);
  const [, ending = "bin"] = /^image\/(jpeg|png|webp|gif|avif|bmp)/.exec(response.headers.get("content-type")) ?? [];
  const stem = (hit.item || hit.id).replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/\.(jpe?g|png|webp|gif|avif|bmp)$/i, "").slice(-80);
  return { name: `${stem}.${ending.replace("jpeg", "jpg")}`, data: new Uint8Array(await response.arrayBuffer()) };
}
