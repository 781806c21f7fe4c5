// The results: one card is one item, near-duplicates stand behind one card, and pages never repeat.

import { player } from "/page/audio.js";
import { find, icon, iconButton, make, percent } from "/page/dom.js";
import { Grid } from "/page/grid.js";
import { t } from "/page/i18n.js";
import { isMedia, kindOf } from "/page/kinds.js";
import { marked, plain } from "/page/words.js";

const MOST_DIFFERENT_BITS = 3;
const MOST_DIFFERENT_COLOUR = 5;
const MOST_BEHIND = 24; // however alike all are, the list goes on

export const labelsOf = (metadata) => [metadata.label ?? metadata.labels ?? []].flat().filter((label) => label !== null).map(plain);
/** The classes that were given, else the one that is guessed. */
export function tagsOf(metadata) {
  const given = labelsOf(metadata).map((tag) => make("span", { class: "tag" }, tag));
  return given.length || !metadata.guess ? given : [make("span", { class: "tag guessed", title: t("guessed") }, plain(metadata.guess))];
}
export const textOf = ({ metadata }) => plain(metadata.text ?? metadata.title);
export const nameOf = (hit) => textOf(hit) || hit.item || hit.id;

export class Results {
  /** `more()` loads the next page; `open(place)` looks closely; `like(hit)` searches for more like it. */
  constructor(api, selection, { open, like, more, leave }) {
    Object.assign(this, { api, selection, open, like, leave });
    this.list = find("#results");
    this.grid = new Grid(this.list, {
      card: (place) => this.card(this.hits[place], place),
      more,
      least: (width) => (width < 600 ? 150 : 216),
      below: () => (this.ranked ? 106 : 84),
    });
    this.reset();
    this.list.addEventListener("keydown", (event) => this.key(event));
    selection.changed(() => this.mark());
  }

  reset() {
    Object.assign(this, { hits: [], seen: new Set(), loaded: 0, leaders: [], far: false, ranked: true });
    this.grid?.clear();
    find("#nothing").hidden = true;
  }

  wait(count) {
    this.grid.set(this.hits.length, count);
  }

  /** Whether a question is under way whose answer will replace what is here. */
  busy(yes) {
    this.list.setAttribute("aria-busy", String(yes));
  }

  /** Add a page; what moved between two pages is not shown twice. `expected` more are still to come. */
  add(hits, { far = false, group = false, expected = 0 } = {}) {
    this.far = far;
    this.ranked = hits.length ? "score" in hits[0] : this.ranked;
    const grown = new Set();
    for (const hit of hits) {
      const key = hit.item || hit.id;
      if (this.seen.has(key)) continue;
      this.seen.add(key);
      this.loaded += 1;
      const leader = group ? this.leader(hit) : null;
      if (leader) {
        (leader.group ??= []).push(hit);
        grown.add(this.hits.indexOf(leader));
      } else this.hits.push(hit);
    }
    this.grid.set(this.hits.length, expected);
    for (const place of grown) this.grid.refresh(place);
  }

  /** The card behind which a near-duplicate stands, if there is one. */
  leader(hit) {
    if (!hit.signature) return null;
    const bits = [parseInt(hit.signature.slice(0, 8), 16), parseInt(hit.signature.slice(8, 16), 16)];
    const colours = hit.signature.slice(16).match(/../g).map((pair) => parseInt(pair, 16));
    const found = this.leaders.find(
      (one) =>
        (one.hit.group?.length ?? 0) < MOST_BEHIND &&
        ones(one.bits[0] ^ bits[0]) + ones(one.bits[1] ^ bits[1]) <= MOST_DIFFERENT_BITS &&
        one.colours.every((value, place) => Math.abs(value - colours[place]) <= MOST_DIFFERENT_COLOUR),
    );
    if (!found) this.leaders.push({ bits, colours, hit });
    return found?.hit ?? null;
  }

  /** Take items out, by the ids of the entries that stand for them; returns how many were here. */
  remove(ids) {
    const before = this.hits.length;
    this.hits = this.hits.filter((hit) => !ids.has(hit.id));
    for (const hit of this.hits) if (hit.group) hit.group = hit.group.filter((one) => !ids.has(one.id));
    const gone = before - this.hits.length;
    this.loaded -= gone;
    const { waiting } = this.grid;
    this.grid.clear();
    this.grid.set(this.hits.length, waiting);
    return gone;
  }

  nothing(title, sentence, { loosen = false, unfilter = false } = {}) {
    this.reset();
    find("#nothing").hidden = false;
    find("#nothing-title").textContent = title;
    find("#nothing-says").textContent = sentence;
    find("#loosen").hidden = !loosen;
    find("#unfilter").hidden = !unfilter;
  }

  card(hit, place) {
    const text = textOf(hit);
    const name = nameOf(hit);
    const words = hit.why?.words ?? [];
    const short = name.slice(0, 80);
    const open = make("button", { type: "button", class: "open", onclick: (event) => this.press(event, place) });
    open.append(kindOf(hit).card(hit, { api: this.api, name, words, alt: text ? "" : name }));
    const tags = tagsOf(hit.metadata);
    if (isMedia(hit)) open.append(make("span", { class: "caption" }, ...(text ? marked(text, words, { short: true }) : [name])));
    const pick = make("button", { type: "button", class: "pick", role: "checkbox", tabIndex: -1, "aria-label": t("select", { name: short }), onclick: (event) => this.pick(place, event.shiftKey) }, icon("check"));
    const like = iconButton("alike", t("like.named", { name: short }), () => this.like(hit), { class: "like icon", title: t("like") });
    const card = make("li", { class: "card", "data-id": hit.id, "data-item": hit.item, "data-modality": hit.modality, "aria-posinset": String(place + 1), "aria-setsize": String(this.total ?? -1) });
    const sound = player(hit, { api: this.api, name });
    card.append(open, pick, like, ...(sound ? [sound] : []), make("div", { class: "tags" }, ...tags));
    if (hit.group?.length) card.append(make("span", { class: "stack", title: t("duplicates", { n: hit.group.length }) }, `+${hit.group.length}`));
    if ("score" in hit) card.append(this.foot(hit));
    this.markCard(card, hit);
    return card;
  }

  foot(hit) {
    const why = reason(hit);
    const told = why && (!this.far || hit.why.words.length) ? make("span", { class: "why", title: figures(hit) }, why) : make("span", { class: "why" });
    return make("div", { class: "foot-line" }, told, likely(hit));
  }

  /** A click opens; with Ctrl or Shift, or while some are selected, it selects. */
  press(event, place) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || (this.selection.size && event.detail > 0)) this.pick(place, event.shiftKey);
    else this.open(place);
  }

  pick(place, range = false) {
    if (range && this.last >= 0) {
      const [from, to] = [Math.min(this.last, place), Math.max(this.last, place)];
      this.selection.add(this.hits.slice(from, to + 1));
    } else this.selection.toggle(this.hits[place]);
    this.last = place;
  }

  mark() {
    for (const [place, card] of this.grid.shown) if (this.hits[place]) this.markCard(card, this.hits[place]);
    this.list.classList.toggle("selecting", this.selection.size > 0);
    if (!this.selection.size) this.last = -1;
  }

  markCard(card, hit) {
    const chosen = this.selection.has(hit);
    card.classList.toggle("chosen", chosen);
    find(".pick", card)?.setAttribute("aria-checked", String(chosen));
  }

  /** Arrow keys walk over the grid as it is laid out; with Shift they select; Space selects, Control-A all. */
  key(event) {
    const here = [...this.grid.shown].find(([, card]) => card.contains(event.target))?.[0];
    if (here === undefined || event.altKey || (event.key === " " && !event.target.matches(".open"))) return;
    const step = this.grid.columns;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: step, ArrowUp: -step, PageDown: step * 3, PageUp: -step * 3 };
    const { key } = event;
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "a") this.selection.add(this.hits);
    else if (event.ctrlKey || event.metaKey) return;
    else if (key === " " || key === "x") this.pick(here, event.shiftKey);
    else if (key === "Escape" || (key === "ArrowUp" && here < step && !event.shiftKey)) {
      if (key === "Escape" && this.selection.size) this.selection.clear();
      else this.leave();
    } else if (key in steps || key === "Home" || key === "End") {
      const next = this.grid.focus(key === "Home" ? 0 : key === "End" ? this.hits.length - 1 : here + steps[key]);
      if (event.shiftKey) this.selection.add(this.hits.slice(Math.min(here, next), Math.max(here, next) + 1));
      this.last = next;
    } else return;
    event.preventDefault();
  }
}

function ones(bits) {
  let count = 0;
  for (let rest = bits >>> 0; rest; rest = (rest & (rest - 1)) >>> 0) count += 1;
  return count;
}

/** Why a result is there, in a few words. */
export function reason({ why }) {
  if (!why?.side) return "";
  const matches = why.words.length ? t("why.matches", { words: why.words.join(", ") }) : "";
  const led = why.side === "image" ? t("why.image") : why.side === "text" && !matches ? t("why.text") : "";
  return [led, matches].filter(Boolean).join(" · ");
}

export function figures(hit) {
  const told = [["image", hit.why?.image], ["text", hit.why?.text], ["bm25", hit.why?.bm25], ["score", hit.score]];
  return told.filter(([, value]) => typeof value === "number").map(([name, value]) => `${t(`figure.${name}`)} ${value.toFixed(2)}`).join(" · ");
}

/** How probably it belongs, as a figure and a little bar. */
export function likely(hit) {
  const known = hit.probability !== null && hit.probability !== undefined;
  if (!known) return make("span", { class: "score", title: t("figure.score") }, hit.score.toFixed(2));
  const fill = make("i");
  fill.style.width = `${Math.round(hit.probability * 100)}%`;
  return make("span", { class: "score", title: t("likely", { p: percent(hit.probability) }) }, make("span", { class: "bar", "aria-hidden": "true" }, fill), percent(hit.probability), make("span", { class: "unseen" }, ` ${t("likely.short")}`));
}
