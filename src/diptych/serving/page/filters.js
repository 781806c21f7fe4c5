// What narrows and orders the results: side, class with counts that follow the query, sorting, and the rest in a menu.

import { button, find, findAll, make, number, percent } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { asksNothing, effective } from "/page/state.js";

const MANY = 12; // classes from which on a box to narrow them is worth its room
const SIDES = ["image", "text", "audio"];

const tick = (value, onchange, ...more) => make("label.tick", make("input", { type: "checkbox", value, onchange }), make("span", value), more);

export class Filters {
  counts = null;

  constructor(app) {
    this.app = app;
    const { modalities = {}, purposes = [], modes = [], sorts = ["score"] } = app.info;
    Object.assign(this, { modalities: Object.keys(modalities), purposes, modes, sorts });
    for (const name of ["sort", "mode", "purpose"]) find(`#${name} select`).onchange = ({ target }) => this.changed({ [name]: target.value.replace("hybrid", "") });
    find("#group").onchange = ({ target }) => this.changed({ group: target.checked });
    find("#strictness").oninput = ({ target }) => this.say(Number(target.value));
    find("#strictness").onchange = ({ target }) => this.changed({ strictness: Number(target.value) });
    find("#class-menu .narrow").oninput = () => this.showClasses();
    this.build();
  }

  get info() {
    return this.app.info;
  }

  changed(change) {
    this.app.change(change, { refine: true });
  }

  /** All that is written in the language of the interface. */
  build() {
    const name = (side) => (SIDES.includes(side) ? t(`modality.${side}`) : side || t("everything"));
    find("#into").replaceChildren(...["", ...this.modalities].map((into) => button(name(into), () => this.changed({ into }), { "data-into": into })));
    const known = (all, some) => all.filter((one) => some.includes(one));
    this.select("mode", known(["hybrid", "lexical", "vector"], this.modes));
    this.select("purpose", this.purposes.length ? ["auto", ...known(["both", "class", "partner"], this.purposes)] : []);
  }

  /** Fill a list; says whether there is a choice. What is usual has no value, and is not said in the address. */
  select(name, choices) {
    const made = choices.map((one) => make("option", { value: ["auto", "score"].includes(one) ? "" : one }, t(`${name}.${one}`)));
    const told = (some) => some.map((one) => one.text).join("\n");
    const list = find(`#${name} select`);
    if (told([...list.options]) !== told(made)) list.replaceChildren(...made); // an open list stays as it is
    return choices.length > 1;
  }

  show(state) {
    this.state = state;
    const nothing = asksNothing(state);
    const { into, mode, purpose } = effective(state, this);
    const show = (selector, yes) => (find(selector).hidden = !yes);
    show("#into", !nothing && this.modalities.length > 1);
    for (const one of find("#into").children) one.ariaPressed = one.dataset.into === into;
    show("#sort", this.select("sort", this.sorts.filter((name) => name !== "score" || !nothing)));
    find("#sort select").value = nothing ? state.sort || "name" : state.sort;
    find("#purpose select").value = purpose;
    find("#mode select").value = mode || "hybrid";
    show("#purpose", !nothing && this.purposes.length);
    show("#mode", !nothing && this.modes.length > 1);
    show("#strict", !nothing && (this.info.by_purpose?.[purpose] ?? this.info).calibrated?.length);
    show("label:has(#group)", !nothing);
    find("#group").checked = state.group;
    find("#strictness").value = state.strictness;
    this.say(state.strictness);
    const set = [...(nothing ? [] : [state.mode, state.purpose, state.strictness, !state.group]), state.splits.length].filter(Boolean);
    find("#more-menu .count").textContent = set.length || "";
    find("#class-menu .count").textContent = state.classes.length || "";
    this.showSplits(state);
    show("#more-menu", !nothing || !find("#splits").hidden);
    this.showClasses();
  }

  /** Counts among the results: `facets` is a list of values and counts, `of` says among how many. */
  count(facets, of) {
    this.counts = facets ? new Map(facets.map(({ value, count }) => [value, count])) : null;
    const cut = facets && !asksNothing(this.state) && of < (this.info.items ?? 0);
    find("#class-menu .of").textContent = cut ? t("counts.of", { n: of }) : "";
    this.showClasses();
  }

  /** The classes that can be chosen, those of the results first. */
  get classes() {
    return [...new Set([...(this.counts?.keys() ?? []), ...Object.keys(this.info.classes ?? {})])];
  }

  showClasses() {
    if (!this.state) return;
    const names = [...new Set([...this.state.classes, ...this.classes])];
    const narrow = find("#class-menu .narrow");
    narrow.hidden = names.length < MANY;
    const sought = narrow.value.trim().toLowerCase();
    find("#class-menu").hidden = names.length < 2;
    this.arrange(names.filter((name) => name.toLowerCase().includes(sought)).slice(0, 300));
    for (const row of find("#class-menu .list").children) {
      const [box, , small] = row.children;
      const count = this.counts?.get(box.value) ?? 0;
      box.checked = this.state.classes.includes(box.value);
      small.textContent = this.counts ? number(count) : "";
      row.classList.toggle("none", this.counts && !count);
    }
  }

  /** Rows are kept, and in an open menu they stay where they are: nothing moves away under a pointer or a key. */
  arrange(names) {
    const list = find("#class-menu .list");
    const rows = new Map([...list.children].map((row) => [row.firstChild.value, row]));
    const open = find("#class-menu").open ? [...rows.keys()].filter((name) => names.includes(name)) : [];
    const order = [...new Set([...open, ...names])];
    if (order.join("\n") === [...rows.keys()].join("\n")) return;
    const focused = document.activeElement;
    list.replaceChildren(...order.map((name) => rows.get(name) ?? tick(name, (event) => this.pick(name, event.target.checked), make("small"))));
    if (list.contains(focused)) focused.focus();
  }

  pick(name, chosen) {
    const others = this.state.classes.filter((one) => one !== name);
    this.changed({ classes: chosen ? [...others, name] : others });
  }

  /** How items were divided for learning means nothing to most people: shown where the address asks for it. */
  showSplits({ splits }) {
    const box = find("#splits");
    if (splits.length && box.hidden) {
      const names = Object.entries(this.info.splits ?? {}).filter(([, count]) => count > 0).map(([name]) => name);
      box.append(...names.map((name) => tick(name, () => this.changed({ splits: findAll("input:checked", box).map((one) => one.value) }))));
      box.hidden = false;
    }
    for (const one of findAll("input", box)) one.checked = splits.includes(one.value);
  }

  /** What results are counted in. */
  unit(state) {
    const { into } = effective(state, this);
    return SIDES.includes(into) ? `unit.${into}` : "items";
  }

  say(strictness) {
    const words = strictness ? t("at.least", { p: percent(strictness / 100) }) : t("off");
    find("#strictness-says").textContent = words;
    find("#strictness").ariaValueText = words;
  }
}
