// Small ways to make and find elements, to format figures, and to keep things in this browser.

export const find = (selector, root = document) => root.querySelector(selector);
export const findAll = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Make an element: its tag and classes, perhaps properties and attributes, then nodes and texts, in lists or not. */
export function make(tag, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  const properties = children[0]?.constructor === Object ? children.shift() : {};
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const ICONS = {
  alike: "M8 4h12v12M4 8h12v12H4z", check: "M5 12.5l4.5 4.5L19 7", close: "M6 6l12 12M18 6L6 18", download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  edit: "M4 20l1-4L16 5l3 3L8 19z", image: "M5.5 5h13A2.5 2.5 0 0 1 21 7.5v9a2.5 2.5 0 0 1-2.5 2.5h-13A2.5 2.5 0 0 1 3 16.5v-9A2.5 2.5 0 0 1 5.5 5zM4 17l5-4 3.5 2.5L16 12l4.5 4.5M9 8.4a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2z",
  label: "M4 4h8l8 8-8 8-8-8zM8 8h.01", lasso: "M12 4c5 0 8 2.5 8 5.5S17 15 12 15 4 12.5 4 9.5 7 4 12 4zM8 14.5c-2 1-2 4 0 4.5s2 1.5 1 2",
  lens: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5l5 5", like: "M12 5v14M5 12h14", menu: "M4 7h16M4 12h16M4 17h16",
  next: "M9 5l7 7-7 7", play: "M8 5l11 7-11 7z", previous: "M15 5l-7 7 7 7", remove: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  star: "M12 4l2.4 5 5.6.7-4 3.9 1 5.4-5-2.7-5 2.7 1-5.4-4-3.9 5.6-.7z", unlike: "M5 12h14",
};

export function icon(name) {
  const frame = make("template", { innerHTML: `<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="${ICONS[name]}"/></svg>` });
  return frame.content.firstChild;
}

/** A button with a text, or nodes, on it; properties are optional. */
export const button = (text, onclick, properties = {}) => make("button", { type: "button", onclick, ...properties }, text);
export const iconButton = (name, label, onclick, properties = {}) =>
  button(icon(name), onclick, { className: "icon", title: label, ariaLabel: label, ...properties });

export const options = (values) => values.map((value) => make("option", { value }));
export const number = (value) => value.toLocaleString(document.documentElement.lang || "en");
export const percent = (share) => `${share > 0 && share < 0.01 ? "< 1" : Math.round(share * 100)} %`;
export const bar = (share) => make("span.bar", { ariaHidden: true }, make("i", { style: `width: ${Math.round(share * 100)}%` }));
export const isNewTab = (event) => event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0; // left to the browser

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
  const href = URL.createObjectURL(blob);
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

/** Close what is open when a click goes elsewhere or Escape is pressed. */
export function closeMenus() {
  document.addEventListener("click", ({ target }) => {
    for (const menu of findAll("details.menu[open]")) menu.open = menu.contains(target);
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && find("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    find("summary", menu).focus();
    event.stopPropagation();
  }, true);
}
