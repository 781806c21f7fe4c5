// A list of cards of which only those in sight are in the document, however long it is.

import { find, make } from "/page/dom.js";

const GAP = 20;
const OVERSCAN = 2; // rows above and below the window

export class Grid {
  /** `card(place)` makes the card at a place; `more()` is called when the end comes near; `least(width)` is a card's width, `below()` its room under the image. */
  constructor(list, asked) {
    Object.assign(this, { list, ...asked, count: 0, waiting: 0, shown: new Map(), frame: 0 });
    new ResizeObserver(() => this.layout()).observe(list);
    window.addEventListener("scroll", () => this.paint(), { passive: true });
    window.onresize = () => this.layout();
  }

  /** `count` cards can be made; `waiting` more are on their way and shown as skeletons. */
  set(count, waiting) {
    Object.assign(this, { count, waiting });
    for (const [place, card] of this.shown) if (card.classList.contains("skeleton")) this.drop(place);
    this.layout();
  }

  clear() {
    for (const place of [...this.shown.keys()]) this.drop(place);
    this.set(0, 0);
  }

  drop(place) {
    this.shown.get(place)?.remove();
    this.shown.delete(place);
  }

  /** Make the card at a place anew. */
  refresh(place) {
    if (!this.shown.has(place)) return;
    const focused = this.shown.get(place).contains(document.activeElement);
    this.drop(place);
    this.paintNow();
    if (focused) this.focus(place);
  }

  layout() {
    const width = this.list.clientWidth;
    if (!width) return;
    const gap = width < 600 ? 10 : GAP;
    this.columns = Math.max(2, Math.floor((width + gap) / (this.least(width) + gap)));
    this.width = Math.floor((width - gap * (this.columns - 1)) / this.columns);
    this.height = Math.round(this.width * 0.82) + this.below();
    this.step = [this.width + gap, this.height + gap];
    const rows = Math.ceil((this.count + this.waiting) / this.columns);
    this.list.style.height = `${Math.max(0, rows * this.step[1] - gap)}px`;
    this.list.style.setProperty("--card-width", `${this.width}px`);
    this.list.style.setProperty("--card-height", `${this.height}px`);
    this.list.dataset.columns = this.columns;
    for (const [place, card] of this.shown) this.put(card, place);
    this.paintNow();
  }

  put(card, place) {
    const [right, down] = this.step;
    card.style.transform = `translate(${(place % this.columns) * right}px, ${Math.floor(place / this.columns) * down}px)`;
  }

  paint() {
    this.frame ||= requestAnimationFrame(() => this.paintNow());
  }

  paintNow() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.step || !this.list.clientWidth) return;
    const top = -this.list.getBoundingClientRect().top;
    const row = (pixels) => Math.floor(pixels / this.step[1]);
    const first = Math.max(0, (row(top) - OVERSCAN) * this.columns);
    const end = Math.min(this.count + this.waiting, (row(top + window.innerHeight) + 1 + OVERSCAN) * this.columns);
    for (const [place, card] of this.shown)
      if ((place < first || place >= end) && !card.contains(document.activeElement)) this.drop(place);
    for (let place = first; place < end; place += 1) {
      if (this.shown.has(place)) continue;
      const card = place < this.count ? this.card(place) : make("li.card.skeleton", { ariaHidden: true });
      this.put(card, place);
      this.shown.set(place, card);
      this.insert(place, card);
    }
    if (this.count && end + this.columns * 2 >= this.count) this.more();
  }

  /** Cards stand in the document in the order in which they are read. */
  insert(place, card) {
    const later = [...this.shown.keys()].filter((at) => at > place);
    this.list.insertBefore(card, later.length ? this.shown.get(Math.min(...later)) : null);
  }

  /** Bring a card into sight and give it the focus. */
  focus(place) {
    const wanted = Math.max(0, Math.min(this.count - 1, place));
    if (wanted < 0 || !this.step) return -1;
    const top = this.list.getBoundingClientRect().top + Math.floor(wanted / this.columns) * this.step[1];
    const room = find("#controls").getBoundingClientRect().bottom; // they stick to the top of the window
    if (top < room) window.scrollBy(0, top - room - 20);
    else if (top + this.height > window.innerHeight - 20) window.scrollBy(0, top + this.height - window.innerHeight + 90);
    this.paintNow();
    this.shown.get(wanted)?.querySelector(".open")?.focus({ preventScroll: true });
    return wanted;
  }
}
