// Fingers, mouse, wheel and keys on a map or an image, told as move, zoom and fit, and on a map as look, click and lasso.

import { button, make } from "/page/dom.js";
import { translate } from "/page/i18n.js";

const STILL = 5;
const KEYS = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };

export class Gestures {
  down = new Map();
  travelled = 0;
  lassoing = false;
  path = null;

  constructor(frame, view) {
    Object.assign(this, { frame, view });
    frame.onpointerdown = (event) => this.press(event);
    frame.onpointermove = (event) => this.drag(event);
    frame.onpointerup = frame.onpointercancel = (event) => this.release(event);
    frame.onpointerleave = () => this.down.size || view.look?.(-1e9, -1e9);
    frame.onkeydown = (event) => this.key(event);
    frame.onwheel = (event) => {
      event.preventDefault();
      const pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
      view.zoom(Math.exp(-Math.max(-300, Math.min(300, pixels)) * 0.002), ...this.at(event));
    };
  }

  /** Buttons that zoom. */
  bar() {
    const one = (text, key, act) => button(text, act, { className: "icon", "data-t-title": key });
    return translate(make("div.zoom", one("+", "zoom.in", () => this.zoom(1.4)), one("−", "zoom.out", () => this.zoom(1 / 1.4)), one("⤢", "zoom.all", () => this.view.fit())));
  }

  at(event) {
    const box = this.frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  zoom(factor) {
    this.view.zoom(factor, this.frame.clientWidth / 2, this.frame.clientHeight / 2);
  }

  press(event) {
    if (event.target.closest("button")) return;
    this.frame.setPointerCapture(event.pointerId);
    if (!this.down.size) this.travelled = 0;
    this.down.set(event.pointerId, this.at(event));
    this.path = this.view.lasso && (this.lassoing || event.shiftKey) ? [this.at(event)] : null;
  }

  drag(event) {
    const [x, y] = this.at(event);
    const before = this.down.get(event.pointerId);
    if (!before) return this.view.look?.(x, y);
    this.travelled += Math.hypot(x - before[0], y - before[1]);
    if (this.path) {
      this.path.push([x, y]);
      this.view.lasso(this.path, false);
    } else if (this.down.size === 2) this.pinch(event.pointerId, before, [x, y]);
    else if (this.travelled > STILL) {
      this.frame.classList.add("moving");
      this.view.move(x - before[0], y - before[1]);
    }
    return this.down.set(event.pointerId, [x, y]);
  }

  pinch(moved, before, now) {
    const other = [...this.down].find(([id]) => id !== moved)[1];
    const wide = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
    this.view.zoom(wide(now) / wide(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    this.view.move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  }

  release(event) {
    const was = this.down.delete(event.pointerId);
    this.frame.classList.remove("moving");
    if (this.path) this.view.lasso(this.path, true);
    else if (was && !this.down.size && event.type === "pointerup" && this.travelled <= STILL) this.view.click?.(...this.at(event));
    this.path = null;
  }

  /** Arrows move a map; in the viewer they turn to the next image. */
  key(event) {
    if (event.ctrlKey || event.metaKey) return;
    const isMap = Boolean(this.view.lasso);
    if (isMap && KEYS[event.key]) this.view.move(...KEYS[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") this.view.fit();
    else if (isMap && event.key.toLowerCase() === "l") this.view.setLasso(!this.lassoing);
    else return;
    event.preventDefault();
  }
}
