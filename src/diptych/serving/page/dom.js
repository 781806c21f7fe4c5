// Small ways to make and find elements.

export const find = (selector, root = document) => root.querySelector(selector);

/** Make an element: properties by name, `class`, `data-…` and `aria-…` as attributes; children are nodes or text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** A little drawing: the shape that stands for a modality. */
export function mark(shape, colour) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }))
    svg.setAttribute(name, value);
  const form = document.createElementNS(SVG, shape === "square" ? "rect" : "circle");
  const place = shape === "square" ? { x: 1.5, y: 1.5, width: 9, height: 9 } : { cx: 6, cy: 6, r: 5 };
  for (const [name, value] of Object.entries(place)) form.setAttribute(name, value);
  if (colour) form.setAttribute("fill", colour);
  svg.append(form);
  return svg;
}

export const percent = (share) => `${share > 0 && share < 0.01 ? "< 1" : Math.round(share * 100)} %`;
