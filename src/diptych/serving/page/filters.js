// What to find, in which classes and splits, and how strictly.

import { find, make, percent } from "/page/dom.js";
import { effectiveInto } from "/page/state.js";

const NAMES = { image: "Pictures", text: "Words", all: "Both" };

export const nameOf = (modality) => NAMES[modality] ?? modality;

export class Filters {
  constructor(info, changed) {
    this.modalities = Object.keys(info.modalities ?? {});
    this.changed = changed;
    this.menus = [
      ["#class-menu", "classes", info.classes ?? {}],
      ["#split-menu", "splits", info.splits ?? {}],
    ];
    this.buildSwitch();
    for (const [selector, key, counts] of this.menus) this.buildMenu(selector, key, counts);
    const slider = find("#strictness");
    slider.addEventListener("input", () => this.say(Number(slider.value)));
    slider.addEventListener("change", () => changed({ strictness: Number(slider.value) }));
    find("#strict").hidden = !info.calibrated?.length;
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
    const choices = this.modalities.length > 1 ? [...this.modalities, "all"] : this.modalities;
    find("#into").replaceChildren(
      ...choices.map((name) =>
        make("button", { type: "button", "data-into": name, onclick: () => this.changed({ into: name }) }, nameOf(name)),
      ),
    );
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
    for (const [selector, key] of this.menus) {
      const menu = find(selector);
      for (const box of menu.querySelectorAll("input")) box.checked = state[key].includes(box.value);
      find(".count", menu).textContent = state[key].length ? String(state[key].length) : "";
    }
    find("#strictness").value = String(state.strictness);
    this.say(state.strictness);
  }

  say(strictness) {
    const words = strictness ? `at least ${percent(strictness / 100)}` : "off";
    find("#strictness-says").textContent = words;
    find("#strictness").setAttribute("aria-valuetext", words);
  }
}

const total = (count) => (typeof count === "number" ? count : Object.values(count).reduce((sum, one) => sum + one, 0));
