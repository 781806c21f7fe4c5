// What stands under the pointer: its image or its text.

import { make } from "/page/dom.js";
import { plain } from "/page/words.js";

const MOST = 500;

export class Tip {
  constructor(api, box, stage) {
    this.api = api;
    this.box = box;
    this.stage = stage;
    this.known = new Map();
    this.wanted = null;
  }

  hide() {
    this.wanted = null;
    this.box.hidden = true;
  }

  async show(id, label, x, y) {
    this.wanted = id;
    if (!this.known.has(id)) {
      if (this.known.size > MOST) this.known.clear();
      await new Promise((done) => setTimeout(done, 60)); // a pointer that only passes asks nothing
      if (this.wanted !== id) return;
      this.known.set(id, this.api.item(id).catch(() => null));
    }
    const item = await this.known.get(id);
    if (this.wanted !== id) return;
    const parts = [];
    if (item?.media) {
      const image = make("img", { alt: "" });
      this.api.show(image, item.media);
      parts.push(image);
    }
    parts.push(make("span", {}, plain(item?.metadata.text) || id));
    if (label) parts.push(make("small", {}, plain(label)));
    this.box.replaceChildren(...parts);
    this.box.hidden = false;
    const side = (place, size, room) => (place + size + 24 > room ? Math.max(4, place - size - 16) : place + 16);
    this.box.style.left = `${side(x, this.box.offsetWidth, this.stage.clientWidth)}px`;
    this.box.style.top = `${side(y, this.box.offsetHeight, this.stage.clientHeight)}px`;
  }
}
