// Fingers, mouse, wheel and keys on the map, told as move, zoom, look, click and lasso.

const STILL = 5;
const KEYS = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };

export class Gestures {
  constructor(canvas, view) {
    Object.assign(this, { canvas, view, down: new Map(), travelled: 0, lassoing: false, path: null });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => this.down.size || (view.points && view.look(-1e9, -1e9)));
    canvas.addEventListener("wheel", (event) => this.turn(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    if (!this.view.points) return;
    this.canvas.setPointerCapture(event.pointerId);
    if (!this.down.size) this.travelled = 0;
    this.down.set(event.pointerId, this.at(event));
    this.path = this.lassoing || event.shiftKey ? [this.at(event)] : null;
  }

  drag(event) {
    if (!this.view.points) return;
    const [x, y] = this.at(event);
    const before = this.down.get(event.pointerId);
    if (!before) {
      this.view.look(x, y);
      return;
    }
    this.travelled += Math.hypot(x - before[0], y - before[1]);
    if (this.path) {
      this.path.push([x, y]);
      this.view.lasso(this.path, false);
    } else if (this.down.size === 2) this.pinch(event.pointerId, before, [x, y]);
    else if (this.travelled > STILL) {
      this.canvas.classList.add("moving");
      this.view.move(x - before[0], y - before[1]);
    }
    this.down.set(event.pointerId, [x, y]);
  }

  pinch(moved, before, now) {
    const other = [...this.down].find(([id]) => id !== moved)[1];
    const wide = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
    this.view.zoom(wide(now) / wide(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    this.view.move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  }

  release(event) {
    const was = this.down.delete(event.pointerId);
    this.canvas.classList.remove("moving");
    if (this.path) this.view.lasso(this.path, true);
    else if (was && !this.down.size && event.type === "pointerup" && this.travelled <= STILL) this.view.click(...this.at(event));
    this.path = null;
  }

  turn(event) {
    event.preventDefault();
    if (!this.view.points) return;
    const pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
    this.view.zoom(Math.exp(-Math.max(-300, Math.min(300, pixels)) * 0.002), ...this.at(event));
  }

  key(event) {
    if (!this.view.points || event.ctrlKey || event.metaKey) return;
    if (KEYS[event.key]) this.view.move(...KEYS[event.key]);
    else if (event.key === "+" || event.key === "=") this.view.zoomMiddle(1.3);
    else if (event.key === "-") this.view.zoomMiddle(1 / 1.3);
    else if (event.key === "0") this.view.fit();
    else if (event.key.toLowerCase() === "l") this.view.setLasso(!this.lassoing);
    else return;
    event.preventDefault();
  }
}
