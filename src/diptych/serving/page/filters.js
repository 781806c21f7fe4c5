// What narrows and orders the results: side, class with counts that follow the query, sorting, and the rest in a menu.

import { find, findAll, make, number, percent } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { asksNothing, effectiveInto, effectiveMode, effectivePurpose } from "/page/state.js";

const MANY = 12; // classes from which on a box to narrow them is worth its room

export const modalityName = (name) => (["image", "text", "audio"].includes(name) ? t(`modality.${name}`) : name);

export class Filters {
  constructor(info, changed) {
    Object.assign(this, { info, changed, counts: null, state: null });
    this.modalities = Object.keys(info.modalities ?? {});
    this.purposes = info.purposes ?? [];
    this.modes = info.modes ?? [];
    this.sorts = info.sorts ?? ["score"];
    find("#sort select").addEventListener("change", (event) => changed({ sort: event.target.value }));
    find("#mode select").addEventListener("change", (event) => changed({ mode: event.target.value === "hybrid" ? "" : event.target.value }));
    find("#purpose select").addEventListener("change", (event) => changed({ purpose: event.target.value }));
    find("#group").addEventListener("change", (event) => changed({ group: event.target.checked }));
    const slider = find("#strictness");
    slider.addEventListener("input", () => this.say(Number(slider.value)));
    slider.addEventListener("change", () => changed({ strictness: Number(slider.value) }));
    find("#class-menu .narrow").addEventListener("input", () => this.showClasses());
    this.build();
  }

  /** All that is written in the language of the interface. */
  build() {
    const choices = ["", ...this.modalities];
    find("#into").replaceChildren(
      ...choices.map((name) => make("button", { type: "button", "data-into": name, onclick: () => this.changed({ into: name }) }, name ? modalityName(name) : t("everything"))),
    );
    this.select("#mode", ["hybrid", "lexical", "vector"].filter((name) => this.modes.includes(name)), "mode");
    this.select("#purpose", this.purposes.length ? ["", ...["both", "class", "partner"].filter((name) => this.purposes.includes(name))] : [], "purpose");
    this.splitsBuilt = false;
  }

  /** What the index leaves no choice of is not shown. */
  select(selector, choices, prefix) {
    find(selector).hidden = choices.length < 2;
    const options = choices.map((name) => make("option", { value: name === "score" ? "" : name }, t(`${prefix}.${name || "auto"}`)));
    const told = (some) => some.map((one) => one.text).join("\n");
    const list = find(`${selector} select`);
    if (told([...list.options]) !== told(options)) list.replaceChildren(...options); // an open list stays as it is
  }

  show(state) {
    this.state = state;
    const nothing = asksNothing(state);
    const into = effectiveInto(state, this.modalities);
    find("#into").hidden = nothing || this.modalities.length < 2;
    for (const button of find("#into").children) button.setAttribute("aria-pressed", String(button.dataset.into === into));
    const sorts = this.sorts.filter((name) => name !== "score" || !nothing);
    this.select("#sort", sorts, "sort");
    find("#sort select").value = nothing && !state.sort ? "name" : state.sort;
    const purpose = effectivePurpose(state, this.purposes);
    find("#purpose select").value = purpose;
    find("#mode select").value = effectiveMode(state, this.modes) || "hybrid";
    find("#purpose").hidden = nothing || !this.purposes.length;
    find("#mode").hidden = nothing || this.modes.length < 2;
    find("#strict").hidden = nothing || !(this.info.by_purpose?.[purpose] ?? this.info).calibrated?.length;
    find("#group").checked = state.group;
    find("#group").closest("label").hidden = nothing;
    const set = [!nothing && state.mode, !nothing && state.purpose, !nothing && state.strictness, !nothing && !state.group, state.splits.length].filter(Boolean).length;
    find("#more-menu .count").textContent = set ? String(set) : "";
    find("#class-menu .count").textContent = state.classes.length ? number(state.classes.length) : "";
    this.showSplits(state);
    find("#more-menu").hidden = nothing && find("#splits").hidden;
    find("#strictness").value = String(state.strictness);
    this.say(state.strictness);
    this.showClasses();
  }

  /** Counts among the results: `facets` is a list of values and counts, `of` says among how many. */
  count(facets, of) {
    this.counts = facets ? new Map(facets.map(({ value, count }) => [value, count])) : null;
    const cut = this.counts && !asksNothing(this.state) && of < (this.info.items ?? 0);
    find("#class-menu .of").textContent = cut ? t("counts.of", { n: of }) : "";
    this.showClasses();
  }

  showClasses() {
    if (!this.state) return;
    const known = Object.keys(this.info.classes ?? {});
    const names = [...new Set([...this.state.classes, ...(this.counts ? this.counts.keys() : []), ...known])];
    const narrow = find("#class-menu .narrow");
    narrow.hidden = names.length < MANY;
    const sought = narrow.value.trim().toLowerCase();
    const shown = names.filter((name) => !sought || name.toLowerCase().includes(sought)).slice(0, 300);
    find("#class-menu").hidden = names.length < 2;
    this.arrange(shown);
    for (const row of find("#class-menu .list").children) {
      const [box, , small] = row.children;
      box.checked = this.state.classes.includes(box.value);
      small.textContent = this.counts ? number(this.counts.get(box.value) ?? 0) : "";
      row.className = this.counts && !this.counts.get(box.value) ? "none" : "";
    }
  }

  /** Rows are kept, and in an open menu they stay where they are: nothing moves away under a pointer or a key. */
  arrange(names) {
    const list = find("#class-menu .list");
    const rows = new Map([...list.children].map((row) => [row.firstChild.value, row]));
    const open = find("#class-menu").open ? [...rows.keys()].filter((name) => names.includes(name)) : [];
    const order = [...new Set([...open, ...names])];
    if (order.join("\n") === [...rows.keys()].join("\n")) return;
    const focused = list.contains(document.activeElement) ? document.activeElement : null;
    list.replaceChildren(...order.map((name) => rows.get(name) ?? this.row(name)));
    if (focused?.isConnected) focused.focus();
  }

  row(name) {
    const box = make("input", { type: "checkbox", value: name, onchange: () => this.pick(name, box.checked) });
    return make("label", {}, box, make("span", {}, name), make("small"));
  }

  pick(name, chosen) {
    const others = this.state.classes.filter((one) => one !== name);
    this.changed({ classes: chosen ? [...others, name] : others });
  }

  /** How items were divided for learning means nothing to most people: shown where the address asks for it. */
  showSplits(state) {
    this.splitsAsked ||= state.splits.length > 0;
    const box = find("#splits");
    box.hidden = !this.splitsAsked;
    if (!this.splitsAsked) return;
    if (!this.splitsBuilt) {
      const names = Object.entries(this.info.splits ?? {}).filter(([, count]) => count > 0).map(([name]) => name);
      const pick = () => this.changed({ splits: findAll("input:checked", box).map((one) => one.value) });
      box.replaceChildren(find("legend", box), ...names.map((name) => make("label", { class: "tick" }, make("input", { type: "checkbox", value: name, onchange: pick }), make("span", {}, name))));
      this.splitsBuilt = true;
    }
    for (const one of findAll("input", box)) one.checked = state.splits.includes(one.value);
  }

  /** What results are counted in. */
  unit(state) {
    const into = effectiveInto(state, this.modalities);
    return ["image", "text", "audio"].includes(into) ? `unit.${into}` : "items";
  }

  say(strictness) {
    const words = strictness ? t("at.least", { p: percent(strictness / 100) }) : t("off");
    find("#strictness-says").textContent = words;
    find("#strictness").setAttribute("aria-valuetext", words);
  }
}
