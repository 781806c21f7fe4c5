// The page: keeps what is asked, says it in the address, and shows what comes back.

import { Actions } from "/page/actions.js";
import { Api } from "/page/api.js";
import { closeMenus, find, findAll, icon, isNewTab, kept, make, percent } from "/page/dom.js";
import { Filters } from "/page/filters.js";
import { chosenLanguage, counted, LANGUAGES, loadLanguage, t } from "/page/i18n.js";
import { askKey } from "/page/keys.js";
import { QueryBox, showNotices } from "/page/query.js";
import { Results } from "/page/results.js";
import { Saved } from "/page/saved.js";
import { Selection, toast } from "/page/selection.js";
import { asksNothing, conditionOf, EMPTY, fromAddress, sameResults, toAddress, toQuery } from "/page/state.js";
import { rememberQuery } from "/page/suggest.js";
import { Viewer } from "/page/viewer.js";

const FIRST = 48;
const NEXT = 96;
const RETRY_MS = 3000;
const NOTHING_KNOWN = { modalities: [], purposes: [], modes: [] };

class App {
  state = fromAddress();
  views = {};
  running = null;
  shown = null; // the state whose results are on the page
  done = true; // whether there are no more of them
  answer = null; // the first page of them, once it is there
  steps = new Map(); // what steps of the browser's history showed, by what they are called in history.state
  step = history.state?.step;

  constructor() {
    this.api = new Api((yes) => this.reached(yes));
    this.actions = new Actions(this);
    this.selection = new Selection(this);
    this.box = new QueryBox(this);
    this.viewer = new Viewer(this);
    this.results = new Results(this);
    this.listen();
    this.arrange(this.state);
  }

  listen() {
    closeMenus();
    for (const one of findAll("[data-icon]")) one.append(icon(one.dataset.icon));
    const click = (selector, act) => (find(selector).onclick = act);
    click("#loosen", () => this.change({ strictness: 0 }));
    click("#unfilter", () => this.change({ classes: [], splits: [], strictness: 0, into: "" }));
    click("#retry", () => this.retry());
    click("#save-search", async () => (await this.saved.add(toAddress({ ...this.state, item: "", view: "search" }), this.state.q)) && toast(t("saved.done")));
    click("#add", () => this.actions.upload());
    click("#use-key", () => this.signIn());
    click("#views", ({ target }) => target.dataset.view && this.change({ view: target.dataset.view }));
    click(".brand", (event) => {
      if (isNewTab(event)) return;
      event.preventDefault();
      this.change({ ...EMPTY });
    });
    history.scrollRestoration = "manual";
    window.onpopstate = () => this.turn();
    window.onoffline = () => this.reached(false);
    window.ononline = () => this.retry();
    window.onbeforeunload = (event) => this.actions.beforeLeaving(event);
    window.onpagehide = () => this.actions.finish();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  get writes() {
    return ["write", "admin"].includes(this.info?.limits.role);
  }

  async start() {
    const language = find("#language");
    language.append(...LANGUAGES.map((code) => make("option", { value: code, lang: code }, new Intl.DisplayNames(code, { type: "language" }).of(code))));
    language.value = chosenLanguage();
    language.onchange = () => this.speak(language.value);
    const loading = loadLanguage();
    const asked = this.api.json("/v1/info").catch((error) => error);
    this.askEarly();
    await loading;
    this.saved = new Saved((address) => this.change(fromAddress(new URL(address, location.href))));
    const info = await asked;
    if (info instanceof Error) {
      find("#hero").hidden = true;
      return this.results.nothing(t("error.title"), info.message);
    }
    this.info = info;
    this.filters = new Filters(this);
    this.dress();
    return this.go(this.state);
  }

  /** Ask what the address asks before anything is known of the index, where that makes no difference. */
  askEarly() {
    const { state } = this;
    if (state.into || state.purpose || state.mode || state.view === "teach") return;
    this.early = { state, answer: this.ask(state, 0, FIRST).catch(() => null) };
  }

  /** What depends on the index and on what the key allows. */
  dress() {
    const { attribution, dataset, examples, items, limits, takes } = this.info;
    this.box.examples(examples ?? []);
    find("#choose").hidden = takes?.every((kind) => kind === "text") ?? false;
    for (const id of ["#add", "#views [data-view=teach]"]) find(id).hidden = !this.writes;
    find("#use-key").hidden = !limits.writes || this.writes;
    find("#dataset").textContent = [dataset?.name, items && counted(items - this.actions.leavingItems)].filter(Boolean).join(" · ");
    find("#attribution").hidden = !attribution;
    find("#attribution p").textContent = attribution ?? "";
  }

  /** How much may be sent, in bytes. */
  get limit() {
    return this.info?.limits.max_upload_bytes ?? 20 * 2 ** 20;
  }

  async speak(language) {
    kept.set("language", language);
    await loadLanguage(language);
    this.saved.show();
    if (!this.info) return;
    this.filters.build();
    this.dress();
    for (const view of Object.values(this.views)) (await view)?.speak();
    this.selection.show();
    this.again();
  }

  /** Ask for what the server says of itself, because it may have changed. */
  async learnInfo() {
    this.info = await this.api.json("/v1/info").catch(() => this.info);
    this.dress();
  }

  async signIn() {
    find("#menu").open = false;
    const before = this.api.key;
    for (let isWrong = false; ; isWrong = true) {
      const key = await askKey(isWrong, true);
      if (!key) return this.api.setKey(before);
      this.api.setKey(key);
      if (await this.api.isKnown()) break;
    }
    await this.learnInfo();
    if (!this.writes) {
      if (before) this.api.setKey(before);
      toast(t("key.reads"));
    }
    return this.selection.show();
  }

  /** A new question is a new step in the browser's history; a filter changes the step. */
  change(change, { refine = false } = {}) {
    if (this.returning) return addEventListener("popstate", () => this.change(change, { refine }), { once: true });
    const next = { ...this.changed(change), item: change.item ?? "" };
    if ("q" in change) this.box.q = null; // another question replaces what was typed
    this.write(next, refine || (toAddress(next) === location.pathname + location.search && next.image === this.state.image));
    return this.go(next);
  }

  /** Say a state in the address, in this step of the history or in a new one. */
  write(state, inPlace) {
    this.keepStep();
    if (!inPlace) this.step = Math.random();
    const closely = Boolean(state.item) && (!inPlace || history.state?.closely);
    history[inPlace ? "replaceState" : "pushState"]({ step: this.step, closely }, "", toAddress(state));
  }

  /** Keep what the address of a step does not tell: an image of one's own, and what was found, as far as it was scrolled. */
  keepStep() {
    const { answer, done, offset, shown, total } = this;
    const found = answer && { answer, done, offset, shown, total, hits: this.results.found };
    this.steps.set(this.step, { image: this.state.image, scroll: window.scrollY, found });
  }

  /** What was found may have changed: steps that showed it ask anew. */
  forgetSteps() {
    for (const kept of this.steps.values()) kept.found = null;
  }

  /** Show the step that the browser has gone to. */
  turn() {
    const before = this.state;
    this.keepStep();
    this.returning = false;
    this.step = history.state?.step;
    const { image = null, found, scroll = 0 } = this.steps.get(this.step) ?? {};
    const state = { ...fromAddress(), image };
    const isKept = found && !sameResults(state, this.shown);
    if (isKept) this.restore(found);
    this.go(state);
    if (isKept) this.tell();
    if (isKept) this.facets(this.shown);
    if (isKept || state.view !== before.view) window.scrollTo(0, scroll);
  }

  /** Put what a step had found back on the page. */
  restore({ hits, ...found }) {
    this.running?.abort();
    Object.assign(this, found, { running: null });
    this.results.reset();
    this.results.busy(false);
    showNotices(this, this.answer);
    this.results.add(hits, { far: this.answer.nothing_close, group: this.shown.group });
  }

  /** Words are taken as typed only as long as they stay the same. */
  changed(change) {
    return { ...this.state, ...("q" in change ? { exact: false } : {}), ...change };
  }

  /** What was found is found anew. */
  again() {
    this.forgetSteps();
    this.shown = null;
    this.go(this.state);
  }

  go(state) {
    if (state.view === "teach" && !this.writes) state = { ...state, view: "search" };
    this.state = state;
    this.arrange(state);
    this.box.show(state);
    if (!this.filters) return;
    this.filters.show(state);
    find("#controls").hidden = false;
    if (state.view !== "teach" && !sameResults(state, this.shown)) this.run();
    if (state.view !== "search") this.view(state.view).then((view) => this.state.view === state.view && view?.show());
    if (state.item && !this.viewer.isOpen) this.openById(state.item);
    else if (!state.item && this.viewer.isOpen) this.viewer.close();
  }

  /** What a question and its view leave room for: known from the address alone, so that nothing jumps later. */
  arrange({ q, view, ...state }) {
    const nothing = asksNothing({ q, ...state });
    document.title = q ? `${q} · Diptych` : "Diptych";
    document.body.dataset.view = view;
    for (const button of find("#views").children) {
      button.ariaPressed = button.dataset.view === view;
      find(`#${button.dataset.view}-view`).hidden = button.dataset.view !== view;
    }
    find("#query").hidden = view === "teach";
    find("#hero").classList.toggle("unseen", view !== "search" || !nothing);
    document.body.classList.toggle("start", nothing && view === "search");
    find("#examples").hidden = !nothing;
    find("#save-search").hidden = nothing;
  }

  /** The other views are loaded when they are first looked at. */
  view(name) {
    this.styles ??= new Promise((onload) => document.head.append(make("link", { rel: "stylesheet", href: "/page/views.css", onload, onerror: onload })));
    this.views[name] ??= Promise.all([import(`/page/${name}.js`), this.styles]).then(
      ([{ View }]) => new View(this),
      () => {
        delete this.views[name];
        toast(t("offline"));
      },
    );
    return this.views[name];
  }

  /** Tell the views that were looked at before that what they show has changed. */
  stale(...names) {
    for (const name of names) this.views[name]?.then((view) => view?.stale());
  }

  async run() {
    this.running?.abort();
    const { state } = this;
    Object.assign(this, { shown: state, done: false, total: null, answer: null });
    rememberQuery(state.q);
    this.results.busy(true);
    const waiting = setTimeout(() => {
      showNotices(this);
      this.results.reset();
      this.results.wait(FIRST / 2);
      this.say(t("searching"));
    }, 150); // quick answers need no skeletons
    const found = await this.load(state, 0, FIRST).finally(() => clearTimeout(waiting));
    if (!found) return;
    this.results.reset();
    window.scrollTo(0, 0);
    this.show(found, true);
    this.results.busy(false);
    this.facets(state);
  }

  /** The next page, if there is one and none is on its way. */
  async more() {
    if (this.done || this.running || !this.shown) return;
    const found = await this.load(this.shown, this.offset, NEXT);
    if (found) this.show(found, false);
  }

  async load(state, offset, k) {
    const asked = (this.running = new AbortController());
    try {
      const early = this.early?.state === state ? this.early.answer : null;
      this.early = null;
      const answer = (await early) ?? (await this.ask(state, offset, k, asked.signal));
      if (this.running !== asked) return null;
      this.running = null;
      this.offset = offset + k;
      return { ...answer, full: answer.hits.length >= k };
    } catch (error) {
      if (error.name === "AbortError" || this.running !== asked) return null;
      this.running = null;
      this.fail(error, offset > 0);
      return null;
    }
  }

  ask(state, offset, k, signal) {
    if (!asksNothing(state)) return this.api.search({ ...toQuery(state, this.filters ?? NOTHING_KNOWN), k, offset, signatures: state.group || undefined }, state.image, signal);
    const where = conditionOf(state);
    return this.api.json(`/v1/browse?${new URLSearchParams({ k, offset, sort: state.sort || "name", ...(where && { where }) })}`, { signal });
  }

  fail({ code, message }, later) {
    this.done = true;
    this.results.busy(false);
    this.say(later ? message : "", later);
    if (later) return this.results.wait(0);
    this.shown = null;
    showNotices(this);
    if (code === "unreachable") return this.results.nothing(t("offline.title"), message);
    return this.results.nothing(t(code === "refused" ? "refused" : "error.title"), message.charAt(0).toUpperCase() + message.slice(1), { unfilter: this.isFiltered });
  }

  get isFiltered() {
    const { classes, splits, strictness } = this.state;
    return Boolean(classes.length || splits.length || strictness);
  }

  show(answer, first) {
    const { hits, full } = answer;
    if (Number.isInteger(answer.total)) this.total = answer.total;
    if (first) showNotices(this, answer);
    if (!hits.length && first) return this.showNothing(answer);
    if (first) this.answer = answer;
    const known = this.total !== null && this.total >= this.offset;
    this.done = !full || (this.total !== null && this.offset >= this.total);
    const expected = this.done ? 0 : known ? Math.min(NEXT, this.total - this.offset) : NEXT / 4;
    this.results.add(hits, { far: answer.nothing_close, group: this.state.group, expected });
    this.tell(answer.seconds);
    return this.views.explore?.then((view) => view?.highlight());
  }

  /** How many there are, in what order, and how many of them are here. */
  tell(seconds = this.seconds) {
    const { loaded, leaving } = this.results;
    const all = this.done ? loaded : this.total && this.total - leaving;
    const unit = (n) => t(this.filters.unit(this.state), { n });
    const parts = [all === null ? t("first", { items: unit(loaded) }) : unit(Math.max(all, loaded))];
    if (all > loaded) parts.push(t("loaded", { n: loaded }));
    if (!asksNothing(this.state)) parts.push(t(`order.${this.state.sort || "score"}`));
    this.say(parts.join(" · "));
    this.seconds = seconds;
    find("#status").title = seconds === undefined ? "" : `${Math.max(1, Math.round(seconds * 1000))} ms`;
  }

  showNothing({ closest = null }) {
    const least = this.state.strictness / 100;
    this.done = true;
    this.say("");
    if (closest !== null && closest < least) return this.results.nothing(t("nothing"), t("nothing.weak", { p: percent(closest), least: percent(least) }), { loosen: true });
    if (this.isFiltered) return this.results.nothing(t("nothing"), t("nothing.filtered"), { unfilter: true });
    return this.results.nothing(t("nothing"), asksNothing(this.state) ? t("nothing.empty") : "");
  }

  /** Counts of classes among the results; those of the class menu leave its own choice out. */
  async facets(state) {
    const { sort, ...query } = toQuery({ ...state, classes: [] }, this.filters);
    const found = await this.api.facets({ ...query, keys: ["label"] }, state.image).catch(() => null); // a search works without them
    if (this.shown === state) this.filters.count(found?.facets.label, found?.of);
  }

  open(hit) {
    if (this.returning) return addEventListener("popstate", () => this.open(hit), { once: true });
    this.viewer.open(hit);
    return this.at(hit, false);
  }

  /** Say in the address which item is looked at. */
  at(hit, inPlace = true) {
    const state = { ...this.state, item: hit.id };
    this.write(state, inPlace);
    this.state = state;
  }

  /** The viewer was closed: its step of the history is taken back. */
  left() {
    if (!this.state.item) return;
    this.state = { ...this.state, item: "" };
    this.returning = Boolean(history.state?.closely);
    if (this.returning) history.back();
    else this.write(this.state, true);
  }

  async openById(id) {
    try {
      const item = this.results.hits.find((hit) => hit.id === id) ?? (await this.api.item(id));
      if (this.state.item === id) this.viewer.open(item);
    } catch (error) {
      toast(error.message);
    }
  }

  say(words, wrong = false) {
    find("#status").textContent = words;
    find("#status").classList.toggle("wrong", wrong);
  }

  reached(yes) {
    if (find("#offline").hidden === yes) return;
    find("#offline").hidden = yes;
    clearInterval(this.retrying);
    if (yes) this.results.revive();
    else this.retrying = setInterval(() => this.retry(), RETRY_MS);
  }

  async retry() {
    const answer = await fetch("/healthz").catch(() => null);
    if (!answer?.ok) return;
    this.reached(true);
    if (!this.info) location.reload();
    else if (!this.shown) this.go(this.state);
    else if (this.results.hits.length) this.done &&= this.total !== null && this.offset >= this.total;
  }

  key(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const typing = target.closest("input, textarea, select, dialog, canvas");
    if (key === "/" && !typing && this.state.view !== "teach") find("#words").select();
    else if (key === "ArrowDown" && target.id === "words") this.results.grid.focus(0);
    else if (key === "Escape" && !typing) return this.selection.clear();
    else if (key === "Delete" && !typing && this.selection.size && this.writes) this.actions.remove(this.selection.hits);
    else return;
    event.preventDefault();
  }
}

new App().start();
