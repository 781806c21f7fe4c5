// The kind image: a thumbnail in a frame of fixed size in cards, the original with zoom in the viewer.

import { make } from "/page/dom.js";
import { Gestures } from "/page/gestures.js";

const MOST = 12;

export const image = {
  card(hit, { api, alt = "" }) {
    const shown = make("img", { alt, loading: "lazy", decoding: "async", draggable: false, onerror: () => frame.classList.add("gone") });
    const frame = make("span.image", shown);
    api.show(shown, hit.media);
    return frame;
  },

  /** The thumbnail at once, the original in its place as soon as it is there; if it is gone, the thumbnail stays. */
  view(hit, { api, name }) {
    const small = make("img.small", { alt: name, draggable: false });
    const large = make("img", { alt: name, draggable: false, onload: () => small.replaceWith(large) });
    const frame = make("div.zoomed", { tabIndex: 0, role: "group", ariaLabel: name, "aria-keyshortcuts": "+ - 0" }, small);
    api.show(small, hit.media);
    api.show(large, `${hit.media}?size=original`);
    frame.append(new Zoom(frame).gestures.bar());
    return frame;
  },
};

/** Where in its frame an image is, and how large. */
class Zoom {
  constructor(frame) {
    this.frame = frame;
    this.gestures = new Gestures(frame, this);
    frame.ondblclick = (event) => (this.scale > 1 ? this.fit() : this.zoom(2.5, ...this.gestures.at(event)));
    this.fit();
  }

  fit() {
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    this.move(0, 0);
  }

  /** Zoom so that the point under (x, y) stays where it is. */
  zoom(factor, x, y) {
    const scale = Math.min(MOST, Math.max(1, this.scale * factor));
    const grown = 1 - scale / this.scale;
    this.scale = scale;
    this.move((x - this.frame.clientWidth / 2 - this.x) * grown, (y - this.frame.clientHeight / 2 - this.y) * grown);
  }

  move(right, down) {
    const within = (value, size) => {
      const most = (size * (this.scale - 1)) / 2;
      return Math.max(-most, Math.min(most, value));
    };
    this.x = within(this.x + right, this.frame.clientWidth);
    this.y = within(this.y + down, this.frame.clientHeight);
    this.frame.dataset.zoom = this.scale.toFixed(2);
    this.frame.style.setProperty("--zoom", `translate(${this.x}px, ${this.y}px) scale(${this.scale})`);
  }
}
