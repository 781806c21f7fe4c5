// What to find, by what, for which purpose, in which classes and splits, and how strictly.

import { find, make, percent } from "/page/dom.js";
import { effectiveInto, effectiveMode, effectivePurpose } from "/page/state.js";

const NAMES = { "": "Everything", image: "Images", text: "Texts" };
const MODES = { hybrid: "Mixed", lexical: "By words", vector: "By meaning" };
const PURPOSES = { "": "what suits", both: "anything alike", class: "things of this kind", partner: "the very item" };

export const nameOf = (modality) => NAMES[modality] ?? modality;

export class Filters {
  constructor(info, changed) {
    this.modalities = Object.keys(info.modalities ?? {});
    this.info = info;
    this.purposes = info.purposes ?? [];
    this.modes = info.modes ?? [];
    this.changed = changed;
    this.menus = [
      ["#class-menu", "classes", info.classes ?? {}],
      ["#split-menu", "splits", info.splits ?? {}],
    ];
    this.buildSwitch();
    this.buildSelect("#purpose", PURPOSES, this.purposes.length ? ["", ...this.purposes] : [], (purpose) => ({ purpose }));
    this.buildSelect("#mode", MODES, this.modes, (chosen) => ({ mode: chosen === "hybrid" ? "" : chosen }));
    for (const [selector, key, counts] of this.menus) this.buildMenu(selector, key, counts);
    const slider = find("#strictness");
    slider.addEventListener("input", () => this.say(Number(slider.value)));
    slider.addEventListener("change", () => changed({ strictness: Number(slider.value) }));
    document.addEventListener("click", (event) => {
      for (const menu of document.querySelectorAll("details.menu[open]"))
        if (!menu.contains(event.target)) menu.open = false;
    });
    document.addEventListener("keydown", (event) => {
      const menu = event.key === "Escape" && find("details.menu[open]");
      if (!menu) return;
      menu.open = false;
      find("summary", menu).focus();
    });
  }

  buildSwitch() {
    const choices = ["", ...this.modalities];
    find("#into").hidden = choices.length < 3;
    find("#into").replaceChildren(
      ...choices.map((name) =>
        make("button", { type: "button", "data-into": name, onclick: () => this.changed({ into: name }) }, nameOf(name)),
      ),
    );
  }

  /** What the index leaves no choice of is not shown. */
  buildSelect(selector, names, known, change) {
    const choices = Object.keys(names).filter((name) => known.includes(name));
    find(selector).hidden = choices.length < 2;
    const select = find(`${selector} select`);
    select.replaceChildren(...choices.map((name) => make("option", { value: name }, names[name])));
    select.addEventListener("change", () => this.changed(change(select.value)));
  }

  buildMenu(selector, key, counts) {
    const menu = find(selector);
    const some = Object.entries(counts).filter(([, count]) => total(count) > 0);
    menu.hidden = some.length < 2;
    find(".options", menu).replaceChildren(
      ...some.map(([name, count]) => {
        const box = make("input", { type: "checkbox", value: name, onchange: () => this.pick(menu, key) });
        return make("label", {}, box, make("span", {}, name), make("small", {}, String(total(count))));
      }),
    );
  }

  pick(menu, key) {
    this.changed({ [key]: [...menu.querySelectorAll("input:checked")].map((box) => box.value) });
  }

  show(state) {
    const into = effectiveInto(state, this.modalities);
    for (const button of find("#into").children)
      button.setAttribute("aria-pressed", String(button.dataset.into === into));
    const purpose = effectivePurpose(state, this.purposes);
    find("#purpose select").value = purpose;
    find("#mode select").value = effectiveMode(state, this.modes) || "hybrid";
    find("#strict").hidden = !(this.info.by_purpose?.[purpose] ?? this.info).calibrated?.length;
    for (const [selector, key] of this.menus) {
      const menu = find(selector);
      for (const box of menu.querySelectorAll("input")) box.checked = state[key].includes(box.value);
      find(".count", menu).textContent = state[key].length ? String(state[key].length) : "";
    }
    this.splitsAsked ||= state.splits.length > 0; // how items were divided for learning means nothing to most people
    find("#split-menu").hidden = !this.splitsAsked || find("#split-menu .options").children.length < 2;
    find("#strictness").value = String(state.strictness);
    this.say(state.strictness);
  }

  /** What one result is called. */
  unit(state) {
    return effectiveInto(state, this.modalities) || "item";
  }

  say(strictness) {
    const words = strictness ? `at least ${percent(strictness / 100)}` : "off";
    find("#strictness-says").textContent = words;
    find("#strictness").setAttribute("aria-valuetext", words);
  }
}

/** Items, not entries: older indexes count each side of an item, so the side of which there are most is taken. */
const total = (count) => (typeof count === "number" ? count : Math.max(0, ...Object.values(count)));
