// The kind image: a thumbnail in a frame of fixed size in cards, the original with zoom in the viewer.

import { button, make } from "/page/dom.js";
import { t } from "/page/i18n.js";

const MOST = 12;

export const image = {
  card(hit, { api, alt }) {
    const shown = make("img", { alt, loading: "lazy", decoding: "async", draggable: false });
    const frame = make("span", { class: "image" }, shown);
    shown.addEventListener("error", () => frame.classList.add("gone"), { once: true });
    api.show(shown, hit.media);
    return frame;
  },

  /** The thumbnail at once, the original in its place as soon as it is there; if it is gone, the thumbnail stays. */
  view(hit, { api, name }) {
    const small = make("img", { alt: name, class: "small", draggable: false });
    const large = make("img", { alt: name, draggable: false });
    large.addEventListener("load", () => small.isConnected && small.replaceWith(large), { once: true });
    const frame = make("div", { class: "zoomed", tabIndex: 0, role: "group", "aria-label": t("image") }, small);
    api.show(small, hit.media);
    api.show(large, `${hit.media}?size=original`);
    frame.append(zoomBar(new Zoom(frame)));
    return frame;
  },
};

/** Zoom and move what is in a frame: by wheel, double click, drag, two fingers and keys. */
class Zoom {
  constructor(frame) {
    Object.assign(this, { frame, scale: 1, x: 0, y: 0 });
    this.down = new Map();
    frame.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.by(Math.exp(-Math.max(-300, Math.min(300, event.deltaY)) * 0.002), event.clientX, event.clientY);
    }, { passive: false });
    frame.addEventListener("dblclick", (event) => (this.scale > 1 ? this.reset() : this.by(2.5, event.clientX, event.clientY)));
    frame.addEventListener("pointerdown", (event) => event.target.closest("button") || this.down.set(event.pointerId, event));
    frame.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) frame.addEventListener(end, (event) => this.down.delete(event.pointerId));
    frame.addEventListener("keydown", (event) => {
      const step = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 }[event.key];
      if (step) this.by(step);
      else if (event.key === "0") this.reset();
      else return;
      event.preventDefault();
    });
  }

  drag(event) {
    const before = this.down.get(event.pointerId);
    if (!before) return;
    const other = [...this.down.values()].find((one) => one.pointerId !== event.pointerId);
    if (other) {
      const wide = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      this.by(wide(event) / wide(before), (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
    } else if (this.scale > 1) this.move(event.clientX - before.clientX, event.clientY - before.clientY);
    this.down.set(event.pointerId, event);
  }

  by(factor, clientX, clientY) {
    const box = this.frame.getBoundingClientRect();
    const [x, y] = [(clientX ?? box.left + box.width / 2) - box.left - box.width / 2, (clientY ?? box.top + box.height / 2) - box.top - box.height / 2];
    const scale = Math.min(MOST, Math.max(1, this.scale * factor));
    const real = scale / this.scale;
    this.scale = scale;
    if (scale === 1) return this.reset();
    return this.move(x - (x - this.x) * real - this.x, y - (y - this.y) * real - this.y);
  }

  move(right, down) {
    const room = (size) => (size * (this.scale - 1)) / 2;
    const within = (value, most) => Math.max(-most, Math.min(most, value));
    this.x = within(this.x + right, room(this.frame.clientWidth));
    this.y = within(this.y + down, room(this.frame.clientHeight));
    this.apply();
  }

  reset() {
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    this.apply();
  }

  apply() {
    this.frame.dataset.zoom = this.scale.toFixed(2);
    this.frame.style.setProperty("--zoom", `translate(${this.x}px, ${this.y}px) scale(${this.scale})`);
  }
}

function zoomBar(zoom) {
  const one = (text, label, act) => button(text, act, { class: "icon", "aria-label": t(label), title: t(label) });
  return make("div", { class: "zoom" }, one("+", "zoom.in", () => zoom.by(1.4)), one("−", "zoom.out", () => zoom.by(1 / 1.4)), one("⤢", "zoom.all", () => zoom.reset()));
}
