// Explore: every item in two dimensions, named at each zoom, with thumbnails when near, results highlighted, and a lasso.

import { mediaAddress } from "/page/api.js";
import { button, find, icon, make, number } from "/page/dom.js";
import { Gestures } from "/page/gestures.js";
import { counted, t, translate } from "/page/i18n.js";
import { nameOf } from "/page/results.js";

const REACH = 14;
const NONE = 65_535;
const MOST_IMAGES = 90;
const IMAGE = 56;
const LIT = 200; // of the results, so many at least are looked for to be shown
const NEAR = 5; // from this zoom on, thumbnails stand for points
const FONT = "600 13px system-ui, sans-serif";
// Colours that people with any kind of colour vision can tell apart (after Okabe and Ito), in three rounds.
const LIGHT = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xb58900, 0x56b4e9, 0x5c4b8a];
const DARK = [0x4aa8e8, 0xff8a3d, 0x2fcf9f, 0xe89cc4, 0xf0e442, 0x9ad7ff, 0xb9a5ee];
const ROUNDS = [1, 0.6, 0.35];

/** A share of a colour on a ground. */
const mixed = (colour, ground, share) =>
  [16, 8, 0].reduce((sum, shift) => sum | (Math.round(((colour >> shift) & 255) * share + ((ground >> shift) & 255) * (1 - share)) << shift), 0);
/** A colour as the bytes of a pixel, read as one number. */
const pixel = (colour) => ((255 << 24) | ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;

export class View {
  constructor(app) {
    Object.assign(this, { app, picked: new Set(), over: -1, points: null, path: null, images: new Map(), items: new Map(), lit: null });
    this.canvas = find("#map");
    this.pen = this.canvas.getContext("2d");
    this.overlay = find("#over-map").getContext("2d");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.onchange = () => this.dress();
    find("#light input").onchange = () => this.draw();
    new ResizeObserver(() => this.resize()).observe(find("#stage"));
    app.selection.changed(() => this.draw());
  }

  /** What can be done once there is a map. */
  listen() {
    this.gestures = new Gestures(this.canvas, this);
    this.lassoButton = button(icon("lasso"), () => this.setLasso(!this.gestures.lassoing), { className: "icon", "data-t-title": "lasso", ariaPressed: false });
    const bar = this.gestures.bar();
    bar.append(this.lassoButton);
    find("#stage").append(translate(bar));
  }

  /** What was changed elsewhere is fetched when the map is looked at again. */
  stale() {
    this.old = true;
  }

  speak() {
    if (this.points) this.describe();
  }

  async show() {
    if (this.points && !this.old) {
      this.highlight();
      return this.resize();
    }
    if (!this.points) find("#map-says").textContent = t("preparing");
    this.loading ??= this.load().finally(() => (this.loading = null));
    return this.loading;
  }

  async load() {
    const again = this.old;
    this.old = false;
    try {
      this.take(await (await this.app.api.fetch("/v1/map")).arrayBuffer());
    } catch (error) {
      find("#map-says").textContent = error.message;
      return undefined;
    }
    if (!this.gestures) this.listen();
    await this.spread();
    this.dress();
    this.describe();
    this.resize();
    return again ? this.draw() : this.fit();
  }

  /** Columns of bytes: a head of JSON, then x, y and the codes of the labels. */
  take(data) {
    const length = new DataView(data).getUint32(0, true);
    const { count, labels, ids, names } = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    const at = 4 + length;
    this.points = { count, labels, ids, names, x: new Float32Array(data, at, count), y: new Float32Array(data, at + 4 * count, count), codes: new Uint16Array(data, at + 8 * count, count) };
    this.place = new Map(ids.map((id, place) => [id, place]));
    this.count();
    this.over = -1;
  }

  count() {
    this.sums = new Map();
    for (const code of this.points.codes) this.sums.set(code, (this.sums.get(code) ?? 0) + 1);
  }

  /** What has no class of its own has the one that teaching spread to it, for whoever may teach. */
  async spread() {
    const { codes, ids, labels } = this.points;
    if (!this.app.writes || !this.sums.has(NONE)) return;
    const found = await this.app.api.json("/v1/teach/spread").catch(() => null);
    const known = new Map(found?.items.map((item, place) => [item, found.labels[place]]));
    ids.forEach((id, place) => {
      const label = codes[place] === NONE ? known.get(id.replace(/^[^:]*:/, "")) : null;
      if (!label) return;
      if (!labels.includes(label)) labels.push(label);
      codes[place] = labels.indexOf(label);
    });
    this.count();
  }

  describe() {
    find("#map-says").textContent = t("map.items", { items: counted(this.points.count) });
    this.canvas.dataset.points = this.points.count;
    this.highlight();
  }

  dress() {
    if (!this.points) return;
    const { labels } = this.points;
    const [base, ground, none, ink] = this.dark.matches ? [DARK, 0x201f1d, 0x77726b, 0xf1eeea] : [LIGHT, 0xffffff, 0x9a958c, 0x1d1c1a];
    const colours = labels.map((_, code) => mixed(base[code % base.length], ground, ROUNDS[Math.floor(code / base.length) % ROUNDS.length]));
    const painted = (share) => {
      const palette = new Uint32Array(NONE + 1).fill(pixel(mixed(none, ground, share)));
      palette.set(colours.map((colour) => pixel(mixed(colour, ground, share))));
      return palette;
    };
    Object.assign(this, { full: painted(1), faded: painted(0.16), ring: new Uint32Array(NONE + 1).fill(pixel(ink)) });
    find("#legend").replaceChildren(...labels.map((name, code) => {
      const dot = make("span.dot", { style: `--dot: #${colours[code].toString(16).padStart(6, "0")}` });
      const shown = !this.picked.size || this.picked.has(code);
      return make("li", button([dot, name, make("small", number(this.sums.get(code) ?? 0))], () => this.pick(code), { ariaPressed: shown }));
    }));
    this.draw();
  }

  pick(code) {
    if (!this.picked.delete(code)) this.picked.add(code);
    this.dress();
    find("#legend").children[code].firstChild.focus();
  }

  /** The results of the current question, as far as they are loaded. */
  highlight() {
    if (!this.points) return;
    const { results } = this.app;
    if (results.ranked && results.loaded < LIT && this.app.state.view === "explore") this.app.more();
    const hits = results.ranked ? results.hits.flatMap((hit) => [hit, ...(hit.group ?? [])]) : [];
    const places = hits.map((hit) => this.place.get(hit.id)).filter((place) => place !== undefined);
    this.lit = places.length ? new Set(places) : null;
    find("#light").hidden = !this.lit;
    find("#light span").textContent = t("light", { n: places.length });
    this.canvas.dataset.lit = places.length;
    this.draw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = find("#stage");
    if (!width || !this.points) return;
    this.ratio = window.devicePixelRatio || 1;
    const first = !this.width;
    const [right, down] = [(width - this.width) / 2, (height - this.height) / 2];
    Object.assign(this, { width, height });
    for (const pen of [this.pen, this.overlay]) Object.assign(pen.canvas, { width: Math.round(width * this.ratio), height: Math.round(height * this.ratio) });
    this.overlay.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.pixels = this.pen.createImageData(this.pen.canvas.width, this.pen.canvas.height);
    this.buffer = new Uint32Array(this.pixels.data.buffer);
    if (!first && this.scale) this.move(right, down);
    else this.draw();
  }

  fit() {
    if (!this.width) return;
    const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const [[left, right], [bottom, top]] = [extent(this.points.x), extent(this.points.y)];
    const room = (size) => Math.max(1, size - 72);
    this.scale = Math.min(room(this.width) / (right - left || 1), room(this.height) / (top - bottom || 1));
    Object.assign(this, { smallest: this.scale / 2, largest: this.scale * 600 });
    this.left = this.width / 2 - ((left + right) / 2) * this.scale;
    this.top = this.height / 2 + ((bottom + top) / 2) * this.scale;
    this.draw();
  }

  at(place) {
    return [this.points.x[place] * this.scale + this.left, this.top - this.points.y[place] * this.scale];
  }

  /** Zoom so that the point under (x, y) stays where it is. */
  zoom(factor, x, y) {
    const scale = Math.min(this.largest, Math.max(this.smallest, this.scale * factor));
    const real = scale / this.scale;
    Object.assign(this, { scale, left: x - (x - this.left) * real, top: y - (y - this.top) * real });
    this.hideTip();
    this.draw();
  }

  move(right, down) {
    this.left += right;
    this.top += down;
    this.hideTip();
    this.draw();
  }

  isShown(place) {
    return (!this.picked.size || this.picked.has(this.points.codes[place])) && !this.app.results.hidden.has(this.points.ids[place]);
  }

  nearest(x, y) {
    const { count } = this.points;
    let [best, found] = [REACH * REACH, -1];
    for (let place = 0; place < count; place += 1) {
      const [right, down] = [this.points.x[place] * this.scale + this.left - x, this.top - this.points.y[place] * this.scale - y];
      const distance = right * right + down * down;
      if (distance < best && this.isShown(place)) [best, found] = [distance, place];
    }
    return found;
  }

  look(x, y) {
    const found = this.nearest(x, y);
    this.canvas.classList.toggle("over", found >= 0);
    if (found === this.over) return;
    this.over = found;
    if (found < 0) this.hideTip();
    else this.showTip(found);
    this.paintOver();
  }

  async click(x, y) {
    const found = this.nearest(x, y);
    if (found < 0) return;
    this.hideTip();
    const item = await this.item(found);
    if (item && this.app.state.view === "explore") this.app.open(item);
  }

  setLasso(on) {
    this.gestures.lassoing = on;
    this.lassoButton.ariaPressed = on;
    this.canvas.classList.toggle("lasso", on);
  }

  /** `path` is where the lasso went so far; null when it is let go. */
  lasso(path, ended) {
    this.path = ended ? null : path;
    if (ended && path.length > 2) {
      const inside = [];
      for (let place = 0; place < this.points.count; place += 1) {
        const [x, y] = this.at(place);
        if (this.isShown(place) && within(path, x, y)) inside.push(place);
      }
      this.app.selection.add(inside.map((place) => ({ id: this.points.ids[place], item: this.points.ids[place], metadata: null })));
      this.setLasso(false);
    }
    this.paintOver();
  }

  item(place) {
    const id = this.points.ids[place];
    if (!this.items.has(id)) {
      if (this.items.size > 500) this.items.clear();
      this.items.set(id, this.app.api.item(id).catch(() => null));
    }
    return this.items.get(id);
  }

  hideTip() {
    this.tipped = -1;
    find("#tip").hidden = true;
  }

  async showTip(place) {
    this.tipped = place;
    await new Promise((done) => setTimeout(done, 60)); // a pointer that only passes asks nothing
    if (this.tipped !== place) return;
    const item = await this.item(place);
    if (this.tipped !== place || !item) return;
    const box = find("#tip");
    const image = make("img", { alt: "", hidden: !item.media });
    if (item.media) this.app.api.show(image, item.media);
    box.replaceChildren(image, make("span", nameOf(item)), make("small", this.points.labels[this.points.codes[place]]));
    box.hidden = false;
    const [x, y] = this.at(place);
    const side = (from, size, room) => (from + size + 24 > room ? Math.max(4, from - size - 16) : from + 16);
    box.style.left = `${side(x, box.offsetWidth, this.width)}px`;
    box.style.top = `${side(y, box.offsetHeight, this.height)}px`;
  }

  draw() {
    if (this.waiting || !this.width || !this.points || !this.scale) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paint();
    });
  }

  /** Points are written straight into pixels: as quick for a hundred thousand as for ten. */
  paint() {
    const { ratio, buffer, points } = this;
    const [width, height] = [this.pixels.width, this.pixels.height];
    const { x, y, codes, count, ids } = points;
    const { hidden } = this.app.results;
    const [scale, left, top] = [this.scale * ratio, this.left * ratio, this.top * ratio];
    const lit = find("#light input").checked ? this.lit : null;
    const radius = Math.max(1, (count > 50_000 ? 1.3 : count > 5_000 ? 2 : count > 800 ? 3 : 4) * ratio * Math.min(2, Math.max(1, Math.sqrt(this.scale / this.smallest / 2) * 0.7)));
    const disc = offsets(radius, width);
    const bright = offsets(radius * 1.5 + 1, width);
    buffer.fill(0);
    const visible = (this.visible = []);
    const named = (this.named = []);
    const dot = (place, shape, palette, isFirst = true) => {
      const [px, py] = [Math.round(x[place] * scale + left), Math.round(top - y[place] * scale)];
      const { reach } = shape;
      if (hidden.size && hidden.has(ids[place])) return;
      if (px < reach || py < reach || px >= width - reach || py >= height - reach) return;
      const [middle, colour] = [py * width + px, palette[codes[place]]];
      for (const offset of shape.offsets) buffer[middle + offset] = colour;
      if (!isFirst) return;
      if (palette === this.full) visible.push(place);
      if (this.isShown(place)) named.push(place);
    };
    for (let place = 0; place < count; place += 1) if (lit ? !lit.has(place) : !this.isShown(place)) dot(place, disc, this.faded);
    if (lit) for (const place of lit) dot(place, bright, this.full);
    else for (let place = 0; place < count; place += 1) if (this.isShown(place)) dot(place, disc, this.full);
    const chosen = [...this.app.selection.chosen.keys()].map((id) => this.place.get(id)).filter((place) => place !== undefined);
    for (const place of chosen) dot(place, bright, this.ring, false);
    for (const place of chosen) dot(place, disc, this.full, false);
    this.pen.putImageData(this.pixels, 0, 0);
    this.paintOver();
  }

  /** Names, thumbnails, the selection, the lasso and what is under the pointer. */
  paintOver() {
    const pen = this.overlay;
    if (!this.width || !this.visible) return;
    const style = getComputedStyle(this.canvas);
    pen.clearRect(0, 0, this.width, this.height);
    this.paintImages(pen);
    const ink = style.color;
    const ring = (place, size, colour) => {
      const [x, y] = this.at(place);
      Object.assign(pen, { lineWidth: 2.5, strokeStyle: colour });
      pen.beginPath();
      pen.arc(x, y, size, 0, 7);
      pen.stroke();
    };
    const accent = style.getPropertyValue("--accent");
    if (this.over >= 0) ring(this.over, 8, ink);
    this.paintNames(pen, ink, style.getPropertyValue("--raised"));
    if (!this.path) return;
    Object.assign(pen, { lineWidth: 2, strokeStyle: accent, fillStyle: `${accent}22` });
    pen.beginPath();
    for (const [x, y] of this.path) pen.lineTo(x, y);
    pen.fill();
    pen.stroke();
  }

  paintImages(pen) {
    const near = (this.scale >= this.smallest * NEAR || this.points.count <= MOST_IMAGES) && this.visible.length <= MOST_IMAGES * 3 ? this.visible : [];
    const taken = [];
    for (const place of near) {
      const [x, y] = this.at(place);
      if (taken.length >= MOST_IMAGES || taken.some(([right, down]) => Math.abs(right - x) < IMAGE && Math.abs(down - y) < IMAGE)) continue;
      const image = this.image(place);
      if (!image?.naturalWidth) continue;
      taken.push([x, y]);
      const size = IMAGE / Math.max(image.naturalWidth, image.naturalHeight);
      pen.drawImage(image, x - (image.naturalWidth * size) / 2, y - (image.naturalHeight * size) / 2, image.naturalWidth * size, image.naturalHeight * size);
    }
    this.canvas.dataset.images = taken.length;
  }

  image(place) {
    const id = this.points.ids[place];
    if (!this.images.has(id)) {
      if (this.images.size > 600) this.images.clear();
      const image = new Image();
      image.addEventListener("load", () => this.draw(), { once: true });
      this.images.set(id, image);
      this.app.api.show(image, mediaAddress(id));
    }
    return this.images.get(id);
  }

  /** The names of what is in sight, the largest first, none over another: classes, then words of what has none. */
  paintNames(pen, ink, ground) {
    const cells = new Map();
    for (const place of this.named) {
      const code = this.points.codes[place];
      if (code === NONE) continue;
      const [x, y] = this.at(place);
      const key = code * 10_000 + Math.floor(y / 150) * 100 + Math.floor(x / 210);
      const cell = cells.get(key) ?? { code, n: 0, x: 0, y: 0 };
      Object.assign(cell, { n: cell.n + 1, x: cell.x + x, y: cell.y + y });
      cells.set(key, cell);
    }
    Object.assign(pen, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 });
    const least = Math.max(2, this.named.length / 400);
    const classes = [...cells.values()].filter((cell) => cell.n >= least).map(({ code, n, x, y }) => ({ name: this.points.labels[code], n, at: x / n, down: y / n, font: FONT }));
    const placed = [];
    for (const one of [...classes.sort(larger), ...this.wordNames().sort(larger)]) {
      pen.font = one.font;
      one.wide = pen.measureText(one.name.slice(0, 28)).width / 2 + 8;
      const clash = (other) => Math.abs(one.down - other.down) < 22 && Math.abs(one.at - other.at) < one.wide + other.wide;
      const twice = (other) => one.name === other.name && Math.hypot(one.at - other.at, one.down - other.down) < 320;
      if (placed.length >= 40 || placed.some((other) => clash(other) || twice(other))) continue;
      placed.push(one);
      Object.assign(pen, { strokeStyle: ground, fillStyle: ink });
      pen.strokeText(one.name.slice(0, 28), one.at, one.down);
      pen.fillText(one.name.slice(0, 28), one.at, one.down);
    }
    this.canvas.dataset.names = placed.map(({ name }) => name).join("|");
  }

  /** What the texts of items without a class are about, at this zoom. */
  wordNames() {
    const { names } = this.points;
    if (!names.length || this.picked.size || !this.sums.has(NONE)) return [];
    const level = Math.max(0, Math.min(names.at(-1)[0], Math.floor(Math.log2(this.scale / this.smallest / 2) + 0.1)));
    const shown = names.filter(([of]) => of === level).map(([, x, y, n, name]) => ({ name, n, at: x * this.scale + this.left, down: this.top - y * this.scale, font: `italic ${FONT}` }));
    return shown.filter(({ at, down }) => at > 0 && at < this.width && down > 0 && down < this.height);
  }
}

const larger = (one, other) => other.n - one.n;

/** The pixels of a disc around its middle. */
function offsets(radius, width) {
  const reach = Math.ceil(radius);
  const found = [];
  for (let down = -reach; down <= reach; down += 1)
    for (let right = -reach; right <= reach; right += 1) if (right * right + down * down <= radius * radius + 0.5) found.push(down * width + right);
  return { reach, offsets: found };
}

/** Whether a point is inside a closed path. */
export function within(path, x, y) {
  let inside = false;
  for (let here = 0, before = path.length - 1; here < path.length; before = here, here += 1) {
    const [[x1, y1], [x2, y2]] = [path[here], path[before]];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}
