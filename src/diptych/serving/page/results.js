// The grid of results: one card is one item.

import { find, make, percent } from "/page/dom.js";
import { marked, plain } from "/page/words.js";

export const labelsOf = (metadata) => [metadata.label ?? metadata.labels ?? []].flat().filter((label) => label !== null).map(plain);

export class Results {
  constructor(api, { open, like }) {
    this.api = api;
    this.actions = { open, like };
    this.list = find("#results");
    this.seen = new Set();
    this.list.addEventListener("keydown", (event) => this.move(event));
  }

  get count() {
    return this.seen.size;
  }

  wait(count = 8) {
    find("#nothing").hidden = true;
    this.seen.clear();
    this.list.setAttribute("aria-busy", "true");
    const many = Array.from({ length: count }, () => make("li", { class: "skeleton", "aria-hidden": "true" }));
    this.list.replaceChildren(...many);
  }

  clear() {
    this.seen.clear();
    this.list.removeAttribute("aria-busy");
    this.list.replaceChildren();
    find("#nothing").hidden = true;
  }

  /** `far` says that these are merely the nearest: nothing of them can be said to be like what was asked. */
  show(hits, { append = false, far = false } = {}) {
    this.list.removeAttribute("aria-busy");
    if (!append) this.seen.clear();
    const fresh = hits.filter((hit) => !this.seen.has(hit.id)); // what moved between two pages is not shown twice
    for (const hit of fresh) this.seen.add(hit.id);
    const cards = fresh.map((hit) => this.card(hit, far));
    if (append) this.list.append(...cards);
    else this.list.replaceChildren(...cards);
    if (append && cards.length) find(".open", cards[0]).focus();
  }

  nothing(sentence, canLoosen) {
    this.clear();
    find("#nothing").hidden = false;
    find("#nothing-says").textContent = sentence;
    find("#loosen").hidden = !canLoosen;
  }

  card(hit, far) {
    const { metadata } = hit;
    const text = plain(metadata.text ?? metadata.title);
    const name = text || hit.item || hit.id;
    const open = make("button", { type: "button", class: "open", onclick: () => this.actions.open(hit) });
    if (hit.media) open.append(this.image(hit.media, text ? "" : name));
    if (text || !hit.media) {
      const look = hit.media ? "caption" : `words${name.length > 160 ? " long" : ""}`;
      open.append(make("span", { class: look }, ...marked(name, hit.why?.words ?? [], { short: true })));
    }
    const like = make("button", { type: "button", class: "like", onclick: () => this.actions.like(hit) }, "More like this");
    like.setAttribute("aria-label", `More like this: ${name.slice(0, 80)}`);
    const card = make("li", { class: "card", "data-id": hit.id, "data-item": hit.item, "data-modality": hit.modality });
    const tags = labelsOf(metadata).map((tag) => make("span", { class: "tag" }, tag));
    card.append(open, make("div", { class: "tags" }, ...tags));
    const why = reason(hit);
    if (why && (!far || hit.why.words.length)) card.append(make("p", { class: "why", title: figures(hit.why) }, why));
    card.append(score(hit), like);
    return card;
  }

  image(address, name) {
    const image = make("img", { alt: name, loading: "lazy", decoding: "async" });
    const frame = make("span", { class: "image" }, image);
    image.addEventListener("error", () => frame.classList.add("gone"), { once: true });
    this.api.show(image, address);
    return frame;
  }

  /** Arrow keys walk over the grid as it is laid out. */
  move(event) {
    const cards = [...this.list.querySelectorAll(".open")];
    const here = cards.indexOf(event.target.closest(".card")?.querySelector(".open"));
    if (here < 0) return;
    const step = this.columns(cards);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: step, ArrowUp: -step };
    let next = event.key === "Home" ? 0 : event.key === "End" ? cards.length - 1 : here + steps[event.key];
    if (event.key === "Escape" || (event.key === "ArrowUp" && next < 0)) {
      event.preventDefault();
      find("#words").focus();
      return;
    }
    if (Number.isNaN(next)) return;
    event.preventDefault();
    next = Math.min(cards.length - 1, Math.max(0, next));
    cards[next].focus();
  }

  columns(cards) {
    const top = (card) => card.getBoundingClientRect().top;
    const first = top(cards[0]);
    const second = cards.findIndex((card) => top(card) > first + 5);
    return second < 0 ? cards.length : second;
  }

  focusFirst() {
    find(".open", this.list)?.focus();
  }
}

/** Why a result is there, in a few words. */
export function reason({ why }) {
  if (!why?.side) return "";
  const matches = why.words.length ? `matches ${why.words.join(", ")}` : "";
  const led = why.side === "image" ? "looks like it" : why.side === "text" && !matches ? "reads like it" : "";
  return [led, matches].filter(Boolean).join(" · ");
}

function figures(why) {
  const told = [["image", why.image], ["text", why.text], ["words", why.bm25]];
  return told.filter(([, value]) => typeof value === "number").map(([name, value]) => `${name} ${value.toFixed(2)}`).join(" · ");
}

export function score(hit) {
  const known = hit.probability !== null && hit.probability !== undefined;
  const share = Math.min(1, Math.max(0, known ? hit.probability : hit.score));
  const fill = make("i");
  fill.style.width = `${share * 100}%`;
  if (share > 0) fill.style.setProperty("--bar-size", `${100 / share}%`);
  const likely = known ? make("strong", {}, `${percent(hit.probability)} likely`) : null;
  const fits = make("span", { title: "how well it fits; results are ordered by it" }, `score ${hit.score.toFixed(2)}`);
  const bar = make("div", { class: "bar", "aria-hidden": "true" }, fill);
  return make("div", { class: "score" }, bar, make("p", {}, likely, fits));
}
