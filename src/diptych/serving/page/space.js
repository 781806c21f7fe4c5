// Where points of the space stand on the screen.

export class Space {
  constructor(x, y) {
    this.x = x;
    this.y = y;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
  }

  /** Show everything within a screen of this size. */
  fit(width, height, margin = 36) {
    const [lowX, highX] = extent(this.x);
    const [lowY, highY] = extent(this.y);
    const room = (size) => Math.max(1, size - 2 * margin);
    this.scale = Math.min(room(width) / (highX - lowX || 1), room(height) / (highY - lowY || 1));
    this.smallest = this.scale / 4;
    this.largest = this.scale * 400;
    this.left = width / 2 - ((lowX + highX) / 2) * this.scale;
    this.top = height / 2 + ((lowY + highY) / 2) * this.scale;
  }

  screenX(place) {
    return this.x[place] * this.scale + this.left;
  }

  screenY(place) {
    return this.top - this.y[place] * this.scale;
  }

  move(right, down) {
    this.left += right;
    this.top += down;
  }

  /** Zoom so that the point under (x, y) stays where it is. */
  zoom(factor, x, y) {
    const scale = Math.min(this.largest, Math.max(this.smallest, this.scale * factor));
    const real = scale / this.scale;
    this.scale = scale;
    this.left = x - (x - this.left) * real;
    this.top = y - (y - this.top) * real;
  }

  /** The point nearest to (x, y) within a distance, or -1. */
  nearest(x, y, within, allowed = () => true) {
    let best = within * within;
    let found = -1;
    for (let place = 0; place < this.x.length; place += 1) {
      const right = this.screenX(place) - x;
      const down = this.screenY(place) - y;
      const distance = right * right + down * down;
      if (distance < best && allowed(place)) [best, found] = [distance, place];
    }
    return found;
  }
}

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return Number.isFinite(low) ? [low, high] : [0, 1];
}
