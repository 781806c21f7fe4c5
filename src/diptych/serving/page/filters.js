// What to find, for which purpose, in which classes and splits, and how strictly.

import { find, make, percent } from "/page/dom.js";
import { effectiveInto, effectivePurpose } from "/page/state.js";

const NAMES = { image: "Pictures", text: "Words", all: "Both" };
const PURPOSES = { both: "anything alike", class: "things of this kind", partner: "the very item" };

export const nameOf = (modality) => NAMES[modality] ?? modality;

export class Filters {
  constructor(info, changed) {
    this.modalities = Object.keys(info.modalities ?? {});
    this.info = info;
    this.purposes = info.purposes ?? [];
    this.changed = changed;
    this.menus = [
      ["#class-menu", "classes", info.classes ?? {}],
      ["#split-menu", "splits", info.splits ?? {}],
    ];
    this.buildSwitch();
    this.buildPurposes();
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
    const choices = this.modalities.length > 1 ? [...this.modalities, "all"] : this.modalities;
    find("#into").replaceChildren(
      ...choices.map((name) =>
        make("button", { type: "button", "data-into": name, onclick: () => this.changed({ into: name }) }, nameOf(name)),
      ),
    );
  }

  /** An index with a single space has nothing to choose from. */
  buildPurposes() {
    const choices = Object.keys(PURPOSES).filter((name) => this.purposes.includes(name));
    find("#purpose").hidden = choices.length < 2;
    const select = find("#purpose select");
    select.replaceChildren(...choices.map((name) => make("option", { value: name }, PURPOSES[name])));
    select.addEventListener("change", () => this.changed({ purpose: select.value === "both" ? "" : select.value }));
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
    find("#purpose select").value = purpose || "both";
    find("#strict").hidden = !(this.info.by_purpose?.[purpose] ?? this.info).calibrated?.length;
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
