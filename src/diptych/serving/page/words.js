// Texts as people should see them: without markup, with the words that matched set off.

const MARKUP = /<\/?[a-z][^>]*>|&(?:#\d+|#x[\da-f]+|[a-z]+\d*);/i;
const TOKEN = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const ROOM = 90; // characters of a card's text that are sure to be seen

/** A text without tags and entities; nothing of it is ever run or loaded. */
export function plain(text) {
  const given = String(text ?? "");
  if (!MARKUP.test(given)) return given;
  const read = new DOMParser().parseFromString(given, "text/html");
  for (const unseen of read.querySelectorAll("script, style")) unseen.remove();
  return read.body.textContent.replace(/\s+/g, " ").trim();
}

const fold = (word) => word.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");

/** Singular and plural are one word. */
function stem(word) {
  const folded = fold(word);
  if (folded.length < 4) return folded;
  if (folded.endsWith("ies") && folded.length > 4) return `${folded.slice(0, -3)}y`;
  if (/(?:[sxz]|ch|sh)es$/.test(folded)) return folded.slice(0, -2);
  return /[^su]s$/.test(folded) ? folded.slice(0, -1) : folded;
}

/** Two forms of one word share most of it: "running" and "runs". */
function akin(one, other) {
  const shorter = Math.min(one.length, other.length);
  let same = 0;
  while (same < shorter && one[same] === other[same]) same += 1;
  return same >= 3 && same >= Math.max(one.length, other.length) - 4;
}

/** The tokens of a text that a word stands for; the server has said that it is there, so some form of it must be. */
function forms(tokens, word) {
  const pieces = [...word.matchAll(TOKEN)].map(([piece]) => stem(piece));
  const joined = stem(word.replace(/[^\p{L}\p{N}]/gu, "")); // a part number is written with its signs or without
  const runs = /\d/.test(joined) ? joined.match(/\d+|\D+/g) : [];
  for (const sought of [new Set([...pieces, joined]), new Set(runs)]) {
    const found = tokens.filter(({ folded }) => sought.has(folded));
    if (found.length) return found;
  }
  return tokens.filter(({ folded }) => akin(folded, joined));
}

/** Where in a text the words stand: sorted [start, end] that do not overlap. */
export function places(text, words) {
  const tokens = [...text.matchAll(TOKEN)].map((hit) => ({ folded: stem(hit[0]), place: [hit.index, hit.index + hit[0].length] }));
  const found = words.flatMap((word) => forms(tokens, word).map(({ place }) => place));
  const lower = text.toLowerCase();
  for (const word of words.filter((one) => UNSPACED.test(one) || /[^\p{L}\p{N}\p{M}]/u.test(one))) {
    const sought = word.toLowerCase();
    if (lower.length !== text.length || !sought) continue;
    for (let at = lower.indexOf(sought); at >= 0; at = lower.indexOf(sought, at + sought.length)) found.push([at, at + sought.length]);
  }
  found.sort((one, other) => one[0] - other[0] || other[1] - one[1]);
  return found.filter(([start], place) => !found.slice(0, place).some(([, end]) => start < end));
}

/** The text as nodes, with its matched words marked; a long one begins shortly before the first of them if `short`. */
export function marked(text, words, { short = false } = {}) {
  const spans = words.length ? places(text, words) : [];
  let from = 0;
  if (short && spans.length && spans[0][1] > ROOM) {
    const blank = text.indexOf(" ", Math.max(0, spans[0][0] - 24));
    from = blank >= 0 && blank < spans[0][0] ? blank + 1 : spans[0][0];
  }
  const nodes = from ? ["… "] : [];
  for (const [start, end] of spans.filter(([start]) => start >= from)) {
    const mark = document.createElement("mark");
    mark.textContent = text.slice(start, end);
    nodes.push(text.slice(from, start), mark);
    from = end;
  }
  return [...nodes, text.slice(from)];
}
