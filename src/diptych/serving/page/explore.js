// The shared space in two dimensions: zoom, move, look, and click to search.

import { find, make, mark } from "/page/dom.js";
import { nameOf } from "/page/filters.js";
import { Gestures } from "/page/gestures.js";
import { colours } from "/page/palette.js";
import { Space } from "/page/space.js";
import { Tip } from "/page/tip.js";

const REACH = 14;
const SHAPES = ["circle", "square"];

export class Explore {
  constructor(api, chosen) {
    this.api = api;
    this.chosen = chosen;
    this.canvas = find("#map");
    this.tip = new Tip(api, find("#tip"), find("#stage"));
    this.picked = new Set();
    this.over = -1;
    this.points = null;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
  }

  async show() {
    if (this.points) return this.resize();
    find("#map-says").textContent = "Loading the space…";
    try {
      this.points = await this.api.json("/v1/projection");
    } catch (error) {
      find("#map-says").textContent = error.message;
      return undefined;
    }
    this.space = new Space(this.points.x, this.points.y);
    this.modalities = [...new Set(this.points.modalities)];
    this.classes = [...new Set(this.points.labels.filter((label) => label !== null))].sort();
    this.gestures = new Gestures(this.canvas, this);
    find("#zoom-in").addEventListener("click", () => this.zoomMiddle(1.5));
    find("#zoom-out").addEventListener("click", () => this.zoomMiddle(1 / 1.5));
    find("#zoom-all").addEventListener("click", () => this.fit());
    this.dark.addEventListener("change", () => this.dress());
    new ResizeObserver(() => this.resize()).observe(find("#stage"));
    this.dress();
    this.describe();
    this.resize();
    return this.fit();
  }

  describe() {
    const { ids, total } = this.points;
    const whole = `${total.toLocaleString()} ${this.modalities.map((name) => nameOf(name).toLowerCase()).join(" and ")}`;
    const some = ids.length < total ? `${ids.length.toLocaleString()} of ${whole}` : whole;
    find("#map-says").textContent = `${some}. What belongs together stands close together.`;
    find("#kinds").replaceChildren(
      ...this.modalities.map((name, place) => make("span", {}, mark(SHAPES[place % 2]), nameOf(name))),
    );
    this.canvas.dataset.points = String(ids.length);
  }

  dress() {
    this.colours = colours(this.classes, this.dark.matches);
    find("#legend").replaceChildren(
      ...this.classes.map((name) => {
        const button = make("button", { type: "button", onclick: () => this.pick(name) }, mark("circle", this.colours.get(name)), name);
        button.setAttribute("aria-pressed", String(!this.picked.size || this.picked.has(name)));
        return make("li", {}, button);
      }),
    );
    this.draw();
  }

  pick(name) {
    if (!this.picked.delete(name)) this.picked.add(name);
    const place = this.classes.indexOf(name);
    this.dress();
    find("#legend").children[place].firstChild.focus();
  }

  resize() {
    const { clientWidth, clientHeight } = find("#stage");
    const ratio = window.devicePixelRatio || 1;
    if (!clientWidth || !this.space) return;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  fit() {
    this.space.fit(this.width, this.height);
    this.draw();
  }

  zoomMiddle(factor) {
    this.zoom(factor, this.width / 2, this.height / 2);
  }

  zoom(factor, x, y) {
    this.space.zoom(factor, x, y);
    this.tip.hide();
    this.draw();
  }

  move(right, down) {
    this.space.move(right, down);
    this.tip.hide();
    this.draw();
  }

  isShown(place) {
    return !this.picked.size || this.picked.has(this.points.labels[place]);
  }

  look(x, y) {
    const found = this.space.nearest(x, y, REACH, (place) => this.isShown(place));
    this.canvas.classList.toggle("over", found >= 0);
    if (found === this.over) return;
    this.over = found;
    if (found < 0) this.tip.hide();
    else this.tip.show(this.points.ids[found], this.points.labels[found], this.space.screenX(found), this.space.screenY(found));
    this.draw();
  }

  click(x, y) {
    const found = this.space.nearest(x, y, REACH, (place) => this.isShown(place));
    if (found < 0) return;
    this.tip.hide();
    this.chosen(this.points.ids[found], this.points.modalities[found]);
  }

  draw() {
    if (this.waiting || !this.width) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paint(this.canvas.getContext("2d"));
    });
  }

  paint(pen) {
    const { labels, modalities, ids } = this.points;
    pen.clearRect(0, 0, this.width, this.height);
    const size = ids.length > 5000 ? 2.4 : ids.length > 800 ? 3.4 : 4.6;
    for (const faded of [true, false]) {
      pen.globalAlpha = faded ? 0.12 : 0.82;
      for (let place = 0; place < ids.length; place += 1) {
        if (this.isShown(place) === faded) continue;
        const x = this.space.screenX(place);
        const y = this.space.screenY(place);
        if (x < -9 || y < -9 || x > this.width + 9 || y > this.height + 9) continue;
        pen.fillStyle = this.colours.get(labels[place]) ?? this.colours.get(null);
        dot(pen, x, y, size, this.modalities.indexOf(modalities[place]) % 2);
      }
    }
    if (this.over >= 0) {
      pen.globalAlpha = 1;
      pen.lineWidth = 2.5;
      pen.strokeStyle = getComputedStyle(this.canvas).color;
      pen.beginPath();
      pen.arc(this.space.screenX(this.over), this.space.screenY(this.over), size + 4, 0, 7);
      pen.stroke();
    }
  }
}

function dot(pen, x, y, size, square) {
  if (square) {
    pen.fillRect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
    return;
  }
  pen.beginPath();
  pen.arc(x, y, size, 0, 7);
  pen.fill();
}
