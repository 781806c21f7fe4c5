// The results: one card is one item, near-duplicates stand behind one card, and pages never repeat.

import { player } from "/page/audio.js";
import { bar, button, find, icon, iconButton, make, percent } from "/page/dom.js";
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
  const given = labelsOf(metadata).map((tag) => make("span.tag", tag));
  const guess = metadata.guess ? [make("span.tag.guessed", { title: t("guessed") }, plain(metadata.guess))] : [];
  return make("div.tags", given.length ? given : guess);
}
export const textOf = ({ metadata }) => plain(metadata.text ?? metadata.title);
export const nameOf = (hit) => textOf(hit) || hit.item || hit.id;

/** What opens a card: the item as its kind shows it, and its text below. */
export function opener(hit, api, properties) {
  const [text, name, words] = [textOf(hit), nameOf(hit), hit.why?.words ?? []];
  const caption = isMedia(hit) ? make("span.caption", marked(name, text ? words : [], { short: true })) : null;
  return button([kindOf(hit).card(hit, { api, name, words, alt: text ? "" : name }), caption], null, { className: "open", ...properties });
}

export class Results {
  constructor(app) {
    Object.assign(this, { app, selection: app.selection, hidden: new Set() });
    this.list = find("#results");
    this.grid = new Grid(this.list, {
      card: (place) => this.card(this.hits[place], place),
      more: () => app.more(),
      least: (width) => (width < 600 ? 150 : 216),
      below: () => (this.ranked ? 106 : 84),
    });
    this.reset();
    this.list.onkeydown = (event) => this.key(event);
    this.selection.changed(() => this.mark());
  }

  reset() {
    Object.assign(this, { found: [], hits: [], seen: new Set(), loaded: 0, leaders: [], far: false, ranked: true });
    this.grid.clear();
    find("#nothing").hidden = true;
  }

  wait(count) {
    this.grid.set(this.hits.length, count);
  }

  /** Whether a question is under way whose answer will replace what is here. */
  busy(yes) {
    this.list.ariaBusy = yes;
  }

  /** Add a page; what moved between two pages is not shown twice. `expected` more are still to come. */
  add(hits, { far = false, group = false, expected = 0 } = {}) {
    Object.assign(this, { far, group });
    if (hits.length) this.ranked = "score" in hits[0];
    const fresh = hits.filter((hit) => {
      const key = hit.item || hit.id;
      return !this.seen.has(key) && this.seen.add(key);
    });
    this.found = [...this.found, ...fresh];
    const grown = new Set(fresh.map((hit) => this.place(hit)));
    this.wait(expected);
    for (const leader of grown) if (leader) this.grid.refresh(this.hits.indexOf(leader));
  }

  /** Put a hit on a card of its own, or behind that of a near-duplicate, which is returned. */
  place(hit) {
    hit.group = null;
    if (this.isHidden(hit)) return null;
    this.loaded += 1;
    const leader = this.group ? this.leader(hit) : null;
    if (leader) (leader.group ??= []).push(hit);
    else this.hits.push(hit);
    return leader;
  }

  isHidden(hit) {
    return this.hidden.has(hit.id) || this.hidden.has(hit.item);
  }

  /** How many of those that were found are hidden. */
  get leaving() {
    return this.found.length - this.loaded;
  }

  /** Take items off the page, or bring them back to where they were. */
  hide(hits, yes = true) {
    for (const key of hits.flatMap(({ id, item }) => [id, item || id])) this.hidden[yes ? "add" : "delete"](key);
    this.arrange();
  }

  /** Hidden items are there no more; returns how many of them had been found. */
  drop(hits) {
    const before = this.found.length;
    const keys = new Set(hits.flatMap(({ id, item }) => [id, item || id]));
    this.found = this.found.filter(({ id, item }) => !keys.has(id) && !keys.has(item));
    for (const key of keys) this.hidden.delete(key);
    return before - this.found.length;
  }

  /** Deal out all cards anew. */
  arrange() {
    Object.assign(this, { hits: [], leaders: [], loaded: 0 });
    for (const hit of this.found) this.place(hit);
    const { waiting } = this.grid;
    this.grid.clear();
    this.wait(waiting);
    if (!this.hits.length) this.app.more();
  }

  /** The card behind which a near-duplicate stands, if there is one. */
  leader(hit) {
    if (!hit.signature) return null;
    const numbers = (from, to, width) => hit.signature.slice(from, to).match(RegExp(`.{${width}}`, "g")).map((one) => parseInt(one, 16));
    const [bits, colours] = [numbers(0, 16, 8), numbers(16, undefined, 2)];
    const found = this.leaders.find(
      (one) =>
        (one.hit.group?.length ?? 0) < MOST_BEHIND &&
        ones(one.bits[0] ^ bits[0]) + ones(one.bits[1] ^ bits[1]) <= MOST_DIFFERENT_BITS &&
        one.colours.every((value, place) => Math.abs(value - colours[place]) <= MOST_DIFFERENT_COLOUR),
    );
    if (!found) this.leaders.push({ bits, colours, hit });
    return found?.hit;
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
    const { api, actions, total } = this.app;
    const name = nameOf(hit).slice(0, 80);
    const card = make(
      "li.card",
      { "data-id": hit.id, "data-item": hit.item, "data-modality": hit.modality, "aria-posinset": place + 1, "aria-setsize": total ?? -1 },
      opener(hit, api, { onclick: (event) => this.press(event, place) }),
      button(icon("check"), (event) => this.pick(place, event.shiftKey), { className: "pick", role: "checkbox", tabIndex: -1, ariaLabel: `${t("select")}: ${name}` }),
      iconButton("alike", `${t("like")}: ${name}`, () => actions.like(hit), { className: "like icon", title: t("like") }),
      player(hit, { api, name }),
      tagsOf(hit.metadata),
      hit.group?.length ? make("span.stack", { title: t("duplicates", { n: hit.group.length }) }, `+${hit.group.length}`) : null,
      "score" in hit ? this.foot(hit) : null,
    );
    this.markCard(card, hit);
    return card;
  }

  /** Why it is here, and how probably it belongs, as a figure and a little bar. */
  foot(hit) {
    const told = !this.far || hit.why?.words.length ? reason(hit) : "";
    const known = typeof hit.probability === "number";
    const score = make("span.score", { title: known ? t("likely", { p: percent(hit.probability) }) : t("figure.score") });
    if (known) score.append(bar(hit.probability), percent(hit.probability), make("span.unseen", ` ${t("likely.short")}`));
    else score.append(hit.score.toFixed(2));
    return make("div.foot-line", make("span.why", { title: told && figures(hit) }, told), score);
  }

  /** A click opens; with Ctrl or Shift, or while some are selected, it selects. */
  press(event, place) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || (this.selection.size && event.detail > 0)) this.pick(place, event.shiftKey);
    else this.app.open(this.hits[place]);
  }

  pick(place, range = false) {
    if (range && this.last >= 0) this.pickRange(this.last, place);
    else this.selection.toggle(this.hits[place]);
    this.last = place;
  }

  pickRange(from, to) {
    this.selection.add(this.hits.slice(Math.min(from, to), Math.max(from, to) + 1));
  }

  /** Ask again for images that did not come. */
  revive() {
    for (const [place, card] of [...this.grid.shown]) if (find(".gone", card)) this.grid.refresh(place);
  }

  mark() {
    for (const [place, card] of this.grid.shown) if (this.hits[place]) this.markCard(card, this.hits[place]);
    this.list.classList.toggle("selecting", this.selection.size > 0);
    if (!this.selection.size) this.last = -1;
  }

  markCard(card, hit) {
    const chosen = this.selection.has(hit);
    card.classList.toggle("chosen", chosen);
    find(".pick", card).ariaChecked = chosen;
  }

  /** Arrow keys walk over the grid as it is laid out; with Shift they select; Space selects, Control-A all. */
  key(event) {
    const { key } = event;
    const here = [...this.grid.shown].find(([, card]) => card.contains(event.target))?.[0];
    if (here === undefined || event.altKey || (key === " " && !event.target.matches(".open"))) return;
    const step = this.grid.columns;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: step, ArrowUp: -step, PageDown: step * 3, PageUp: -step * 3, Home: -Infinity, End: Infinity };
    if (event.ctrlKey || event.metaKey) {
      if (key.toLowerCase() !== "a") return;
      this.selection.add(this.hits);
    } else if (key === " " || key === "x") this.pick(here, event.shiftKey);
    else if (key === "Escape" && this.selection.size) this.selection.clear();
    else if (key === "Escape" || (key === "ArrowUp" && here < step && !event.shiftKey)) find("#words").focus();
    else if (key in steps) {
      const next = this.grid.focus(here + steps[key]);
      if (event.shiftKey) this.pickRange(here, next);
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

export function figures({ why, score }) {
  const told = Object.entries({ image: why?.image, text: why?.text, bm25: why?.bm25, score });
  return told.filter(([, value]) => typeof value === "number").map(([name, value]) => `${t(`figure.${name}`)} ${value.toFixed(2)}`).join(" · ");
}
