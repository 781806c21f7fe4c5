// Small ways to make and find elements, to format figures, and to keep things in this browser.

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

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
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  check: "M5 12.5l4.5 4.5L19 7", close: "M6 6l12 12M18 6L6 18", previous: "M15 5l-7 7 7 7", next: "M9 5l7 7-7 7",
  like: "M12 5v14M5 12h14", unlike: "M5 12h14", download: "M12 4v11M7 11l5 5 5-5M5 20h14", star: "M12 4l2.4 5 5.6.7-4 3.9 1 5.4-5-2.7-5 2.7 1-5.4-4-3.9 5.6-.7z",
  label: "M4 4h8l8 8-8 8-8-8zM8 8h.01", remove: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13", play: "M8 5l11 7-11 7z", edit: "M4 20l1-4L16 5l3 3L8 19z", alike: "M8 4h12v12M4 8h12v12H4z",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true" })) svg.setAttribute(key, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export const button = (text, onclick, properties = {}) => make("button", { type: "button", onclick, ...properties }, text);
export const iconButton = (name, label, onclick, properties = {}) =>
  make("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick, ...properties }, icon(name));

export const number = (value) => value.toLocaleString(document.documentElement.lang || "en");
export const percent = (share) => `${share > 0 && share < 0.01 ? "< 1" : Math.round(share * 100)} %`;

/** Values that stay in this browser; without storage they last as long as the page. */
export const kept = {
  get(name, other) {
    try {
      return JSON.parse(localStorage.getItem(`diptych-${name}`)) ?? other;
    } catch {
      return other;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`diptych-${name}`, JSON.stringify(value));
    } catch {
      // a browser that keeps nothing still works
    }
  },
};

/** Hand a file to the person. */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Close what is open when a click goes elsewhere or Escape is pressed. */
export function closeMenus() {
  document.addEventListener("click", (event) => {
    for (const menu of findAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && find("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    find("summary", menu).focus();
    event.stopPropagation();
  }, true);
}
