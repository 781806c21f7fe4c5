// The grid of results.

import { find, make, percent } from "/page/dom.js";

const labelsOf = (metadata) => [metadata.label ?? metadata.labels ?? []].flat().filter((label) => label !== null);

export class Results {
  constructor(api, { open, like }) {
    this.api = api;
    this.actions = { open, like };
    this.list = find("#results");
    this.list.addEventListener("keydown", (event) => this.move(event));
  }

  wait(count = 8) {
    find("#nothing").hidden = true;
    this.list.setAttribute("aria-busy", "true");
    const many = Array.from({ length: count }, () => make("li", { class: "skeleton", "aria-hidden": "true" }));
    this.list.replaceChildren(...many);
  }

  clear() {
    this.list.removeAttribute("aria-busy");
    this.list.replaceChildren();
    find("#nothing").hidden = true;
  }

  show(hits, { append = false } = {}) {
    this.list.removeAttribute("aria-busy");
    const cards = hits.map((hit) => this.card(hit));
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

  card(hit) {
    const { metadata } = hit;
    const text = metadata.text ?? metadata.title ?? hit.id;
    const open = make("button", { type: "button", class: "open", onclick: () => this.actions.open(hit) });
    if (hit.media) {
      const image = make("img", { alt: text, loading: "lazy", decoding: "async" });
      this.api.show(image, hit.media);
      open.append(make("span", { class: "picture" }, image), make("span", { class: "caption", "aria-hidden": "true" }, text));
    } else {
      open.append(make("span", { class: `words${text.length > 160 ? " long" : ""}` }, text));
    }
    const tags = [...labelsOf(metadata), metadata.split].filter(Boolean);
    const like = make("button", { type: "button", class: "like", onclick: () => this.actions.like(hit) }, "More like this");
    like.setAttribute("aria-label", `More like this: ${text.slice(0, 80)}`);
    const card = make("li", { class: "card", "data-id": hit.id, "data-modality": hit.modality });
    card.append(open, make("div", { class: "tags" }, ...tags.map((tag) => make("span", { class: "tag" }, String(tag)))));
    card.append(score(hit), like);
    return card;
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

export function score(hit) {
  const known = hit.probability !== null && hit.probability !== undefined;
  const share = Math.min(1, Math.max(0, known ? hit.probability : hit.score));
  const fill = make("i");
  fill.style.width = `${share * 100}%`;
  if (share > 0) fill.style.setProperty("--bar-size", `${100 / share}%`);
  const likely = known ? make("strong", {}, `${percent(hit.probability)} likely`) : make("strong", {}, "not calibrated");
  const cosine = make("span", { title: "cosine with the query" }, `score ${hit.score.toFixed(2)}`);
  const bar = make("div", { class: "bar", "aria-hidden": "true" }, fill);
  return make("div", { class: "score" }, bar, make("p", {}, likely, cosine));
}

export { labelsOf };
