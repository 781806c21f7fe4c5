// Colours that people with any kind of colour vision can tell apart (after Okabe and Ito), in three rounds.

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#5c4b8a"];
const DARK = ["#4aa8e8", "#ff8a3d", "#2fcf9f", "#e89cc4", "#f0e442", "#9ad7ff", "#b9a5ee"];
const ROUNDS = [1, 0.6, 0.35];
const NONE = { light: "#9a958c", dark: "#77726b" };

export function colours(names, dark) {
  const base = dark ? DARK : LIGHT;
  const ground = dark ? "#201f1d" : "#ffffff";
  const found = new Map([[null, mixed(dark ? NONE.dark : NONE.light, ground, 1)]]);
  names.forEach((name, place) => {
    const share = ROUNDS[Math.floor(place / base.length) % ROUNDS.length];
    found.set(name, mixed(base[place % base.length], ground, share));
  });
  return found;
}

function mixed(colour, ground, share) {
  const numbers = (text) => [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
  const [from, to] = [numbers(colour), numbers(ground)];
  return `rgb(${from.map((value, place) => Math.round(value * share + to[place] * (1 - share))).join(" ")})`;
}
