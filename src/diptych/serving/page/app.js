// The page: keeps what is asked, says it in the address, and shows what comes back.

import { Actions } from "/page/actions.js";
import { Api } from "/page/api.js";
import { closeMenus, find, findAll, kept, make, percent } from "/page/dom.js";
import { Filters } from "/page/filters.js";
import { chosenLanguage, LANGUAGES, loadLanguage, t } from "/page/i18n.js";
import { askKey } from "/page/keys.js";
import { Notices } from "/page/notices.js";
import { QueryBox } from "/page/query.js";
import { Results } from "/page/results.js";
import { Saved } from "/page/saved.js";
import { Selection, SelectionBar, toast } from "/page/selection.js";
import { asksNothing, conditionOf, EMPTY, fromAddress, sameResults, toAddress, toQuery } from "/page/state.js";
import { rememberQuery } from "/page/suggest.js";
import { Viewer } from "/page/viewer.js";

const FIRST = 48;
const NEXT = 96;
const RETRY_MS = 3000;
const NOTHING_KNOWN = { modalities: [], purposes: [], modes: [] };

class App {
  constructor() {
    this.state = fromAddress();
    this.api = new Api(askKey, (reached) => this.reached(reached));
    this.selection = new Selection();
    this.actions = new Actions(this);
    this.views = {};
    this.writes = () => ["write", "admin"].includes(this.info?.limits.role);
    this.bar = new SelectionBar(this.selection, this.actions, this.writes);
    this.box = new QueryBox(this.api, (change) => this.change(change), (problem) => this.say(problem, true));
    this.viewer = new Viewer(this.api, this.actions.forViewer(), this.writes);
    this.results = new Results(this.api, this.selection, {
      open: (place) => this.open(this.results.hits[place]),
      like: (hit) => this.actions.like(hit),
      more: () => this.more(),
      leave: () => find("#words").focus(),
    });
    this.notices = new Notices({ address: (change) => toAddress(this.changed(change)), asked: (change) => this.change(change) });
    this.running = null;
    this.shown = null; // the state whose results are on the page
    this.done = true; // whether there are no more of them
    this.listen();
    this.arrange(this.state);
  }

  listen() {
    closeMenus();
    find("#loosen").addEventListener("click", () => this.change({ strictness: 0 }));
    find("#unfilter").addEventListener("click", () => this.change({ classes: [], splits: [], strictness: 0, into: "" }));
    find("#retry").addEventListener("click", () => this.retry());
    find("#save-search").addEventListener("click", async () => (await this.saved.add(toAddress({ ...this.state, item: "", view: "search" }), this.state.q)) && toast(t("saved.done")));
    find("#add").addEventListener("click", () => this.actions.upload());
    find("#use-key").addEventListener("click", () => this.signIn());
    for (const button of findAll("#views button")) button.addEventListener("click", () => this.change({ view: button.dataset.view }));
    find(".brand").addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.change({ ...EMPTY });
    });
    window.addEventListener("popstate", () => this.go({ ...fromAddress(), image: null }));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("offline", () => this.reached(false));
    window.addEventListener("online", () => this.retry());
    window.addEventListener("pagehide", () => this.actions.finish());
  }

  async start() {
    const language = find("#language");
    language.append(...Object.entries(LANGUAGES).map(([code, name]) => make("option", { value: code, lang: code }, name)));
    language.value = chosenLanguage();
    language.addEventListener("change", () => this.speak(language.value));
    const loading = loadLanguage();
    const asked = this.api.json("/v1/info").catch((error) => error);
    this.askEarly();
    await loading;
    this.saved = new Saved((address) => this.change(fromAddress(new URL(address, location.href))));
    this.info = await asked;
    if (this.info instanceof Error) {
      const error = this.info;
      this.info = null;
      find("#hero").hidden = true;
      return this.results.nothing(t("error.title"), error.message);
    }
    this.filters = new Filters(this.info, (change) => this.change(change, { refine: true }));
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
    const { info } = this;
    this.box.limit = info.limits.max_upload_bytes;
    this.box.examples(info.examples ?? []);
    find("#choose").hidden = info.takes ? !info.takes.some((kind) => kind !== "text") : false;
    find("#add").hidden = !this.writes();
    find("#views [data-view=teach]").hidden = !this.writes();
    find("#use-key").hidden = !info.limits.writes || this.writes();
    this.countItems();
    if (info.attribution) {
      find("#attribution").hidden = false;
      find("#attribution p").textContent = info.attribution;
    }
  }

  countItems() {
    const { dataset, items } = this.info;
    find("#dataset").textContent = [dataset?.name, items && t("items", { n: items })].filter(Boolean).join(" · ");
  }

  async speak(language) {
    kept.set("language", language);
    await loadLanguage(language);
    this.saved.show();
    if (!this.info) return;
    this.filters.build();
    this.dress();
    this.shown = null;
    for (const view of Object.values(this.views)) (await view)?.speak();
    this.bar.show();
    this.go(this.state);
  }

  async signIn() {
    find("#menu").open = false;
    const before = this.api.key;
    const key = await askKey(false, true);
    if (!key) return;
    this.api.setKey(key);
    this.info = await this.api.json("/v1/info").catch(() => this.info);
    if (!this.writes() && this.api.key === key) {
      if (before) this.api.setKey(before);
      toast(t("key.reads"));
    }
    this.dress();
    this.bar.show();
  }

  /** A new question is a new step in the browser's history; a filter changes the step. */
  change(change, { refine = false } = {}) {
    const next = { ...this.changed(change), item: change.item ?? "" };
    if ("q" in change) this.box.q = null; // another question replaces what was typed
    const address = toAddress(next);
    if (refine) history.replaceState(null, "", address);
    else if (address !== location.pathname + location.search) history.pushState(null, "", address);
    this.go(next);
  }

  /** Words are taken as typed only as long as they stay the same. */
  changed(change) {
    return { ...this.state, ...("q" in change ? { exact: false } : {}), ...change };
  }

  go(state) {
    if (state.view === "teach" && !this.writes()) state = { ...state, view: "search" };
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
  arrange(state) {
    const nothing = asksNothing(state);
    document.title = state.q ? `${state.q} · Diptych` : "Diptych";
    document.body.dataset.view = state.view;
    for (const button of findAll("#views button")) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    for (const name of ["search", "explore", "teach"]) find(`#${name}-view`).hidden = state.view !== name;
    find("#query").hidden = state.view === "teach";
    find("#hero").classList.toggle("unseen", state.view !== "search" || !nothing);
    document.body.classList.toggle("start", nothing && state.view === "search");
    find("#examples").hidden = !nothing;
    find("#save-search").hidden = nothing;
  }

  /** The other views are loaded when they are first looked at. */
  view(name) {
    this.views[name] ??= import(`/page/${name}.js`).then(
      (module) => new module.View(this),
      () => {
        delete this.views[name];
        toast(t("offline"));
      },
    );
    return this.views[name];
  }

  async run() {
    this.running?.abort();
    const { state } = this;
    this.shown = state;
    this.done = false;
    this.total = null;
    rememberQuery(state.q);
    this.results.busy(true);
    const waiting = setTimeout(() => {
      this.notices.clear();
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
    if (asksNothing(state)) {
      const where = conditionOf(state);
      const said = new URLSearchParams({ k, offset, sort: state.sort || "name", ...(where ? { where } : {}) });
      return this.api.json(`/v1/browse?${said}`, { signal });
    }
    const { parts, options } = toQuery(state, this.filters ?? NOTHING_KNOWN);
    return this.api.search(parts, { ...options, k, offset, ...(state.group ? { signatures: true } : {}) }, state.image, signal);
  }

  fail(error, later) {
    this.done = true;
    this.results.busy(false);
    if (later) {
      this.results.wait(0);
      this.say(error.message, true);
      return;
    }
    this.shown = null;
    this.notices.clear();
    this.say("");
    if (error.code === "unreachable") this.results.nothing(t("offline.title"), error.message);
    else this.results.nothing(error.code === "refused" ? t("refused") : t("error.title"), capital(error.message), { unfilter: this.isFiltered });
  }

  get isFiltered() {
    const { classes, splits, strictness } = this.state;
    return Boolean(classes.length || splits.length || strictness);
  }

  show(answer, first) {
    const { hits, full } = answer;
    if (Number.isInteger(answer.total)) this.total = answer.total;
    if (first) this.notices.show(answer);
    if (!hits.length && first) return this.showNothing(answer);
    const known = this.total !== null && this.total >= this.offset;
    this.done = !full || (this.total !== null && this.offset >= this.total);
    const expected = this.done ? 0 : known ? Math.min(NEXT, this.total - this.offset) : NEXT / 4;
    this.results.total = this.total;
    this.results.add(hits, { far: answer.nothing_close, group: this.state.group, expected });
    this.tell(answer.seconds);
    this.views.explore?.then((view) => view?.highlight());
    return undefined;
  }

  /** How many there are, in what order, and how many of them are here. */
  tell(seconds) {
    const { loaded } = this.results;
    const all = this.done ? loaded : this.total;
    const unit = this.filters.unit(this.state);
    const parts = [all === null ? t("first", { items: t(unit, { n: loaded }) }) : t(unit, { n: Math.max(all, loaded) })];
    if (all !== null && all > loaded) parts.push(t("loaded", { n: loaded }));
    if (!asksNothing(this.state)) parts.push(t(`order.${this.state.sort || "score"}`));
    if (seconds !== undefined) this.seconds = seconds;
    this.say(parts.join(" · "));
    find("#status").title = this.seconds === undefined ? "" : `${Math.max(1, Math.round(this.seconds * 1000))} ms`;
  }

  showNothing({ closest = null }) {
    const { strictness } = this.state;
    this.done = true;
    this.say("");
    const weak = closest !== null && closest < strictness / 100;
    if (weak) return this.results.nothing(t("nothing"), t("nothing.weak", { p: percent(closest), least: percent(strictness / 100) }), { loosen: true });
    if (this.isFiltered) return this.results.nothing(t("nothing"), t("nothing.filtered"), { unfilter: true });
    return this.results.nothing(t("nothing"), asksNothing(this.state) ? t("nothing.empty") : t("nothing.found"));
  }

  /** Counts of classes among the results; those of the class menu leave its own choice out. */
  async facets(state) {
    if (state.image) return this.filters.count(null);
    const { parts, options } = toQuery(state, this.filters, { withoutClasses: true });
    const { sort, ...rest } = options;
    try {
      const found = await this.api.send("POST", "/v1/facets", { parts, ...rest, keys: ["label"] });
      if (this.shown === state) this.filters.count(found.facets.label, found.of);
    } catch {
      if (this.shown === state) this.filters.count(null);
    }
    return undefined;
  }

  open(hit) {
    this.viewer.open(hit);
    this.state = { ...this.state, item: hit.id };
    history.replaceState(null, "", toAddress(this.state));
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
    const status = find("#status");
    status.textContent = words;
    status.classList.toggle("wrong", wrong);
  }

  reached(yes) {
    if (find("#offline").hidden === yes) return;
    find("#offline").hidden = yes;
    clearInterval(this.retrying);
    if (!yes) this.retrying = setInterval(() => this.retry(), RETRY_MS);
  }

  async retry() {
    const answer = await fetch("/healthz").catch(() => null);
    if (!answer?.ok) return;
    this.reached(true);
    if (!this.info) location.reload();
    else if (!this.shown) this.go(this.state);
    else if (this.done && this.results.hits.length) this.done = this.total !== null && this.offset >= this.total;
  }

  key(event) {
    const typing = event.target.closest("input, textarea, select, dialog, canvas");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !typing && this.state.view !== "teach") {
      event.preventDefault();
      find("#words").focus();
      find("#words").select();
    } else if (event.key === "ArrowDown" && event.target.id === "words" && !event.defaultPrevented) {
      event.preventDefault();
      this.results.grid.focus(0);
    } else if (event.key === "Escape" && !typing && !event.defaultPrevented) this.selection.clear();
    else if (event.key === "Delete" && !typing && this.selection.size && this.writes()) this.actions.remove(this.selection.hits);
  }
}

const capital = (sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1);

new App().start();
