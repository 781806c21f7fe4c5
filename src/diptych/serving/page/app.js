// The page: keeps what is asked, says it in the address, and shows what comes back.

import { Api } from "/page/api.js";
import { Detail } from "/page/detail.js";
import { find, percent } from "/page/dom.js";
import { Explore } from "/page/explore.js";
import { Filters } from "/page/filters.js";
import { askKey } from "/page/keys.js";
import { Notices } from "/page/notices.js";
import { QueryBox } from "/page/query.js";
import { Results } from "/page/results.js";
import { EMPTY, fromAddress, isEmpty, toAddress, toQuery } from "/page/state.js";

const PAGE = 24;

class App {
  constructor() {
    this.state = fromAddress();
    this.api = new Api(askKey);
    this.box = new QueryBox(this.api, (change, problem) => (problem ? this.say(problem, true) : this.change(change)));
    const like = (hit) => this.change({ ...EMPTY, like: hit.id, strictness: this.state.strictness });
    this.detail = new Detail(this.api, like);
    this.results = new Results(this.api, { like, open: (hit) => this.detail.open(hit) });
    this.explore = new Explore(this.api, (id) => like({ id }));
    const asked = (change) => this.change(change);
    this.notices = new Notices({ address: (change) => toAddress(this.changed(change)), asked });
    this.running = null;
    this.shown = null; // the state whose results are on the page
    find("#more").addEventListener("click", () => this.run(true));
    find("#loosen").addEventListener("click", () => this.change({ strictness: 0 }));
    for (const button of find("#views").children)
      button.addEventListener("click", () => this.change({ view: button.dataset.view }));
    window.addEventListener("popstate", () => this.go({ ...fromAddress(), image: null }));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  async start() {
    try {
      this.info = await this.api.json("/v1/info");
    } catch (error) {
      this.say(error.message, true);
      return;
    }
    const { info } = this;
    this.box.limit = info.limits.max_upload_bytes;
    this.box.examples(info.examples ?? []);
    find("#choose").hidden = info.takes ? !info.takes.includes("image") : false;
    this.filters = new Filters(info, (change) => this.change(change, { refine: true }));
    const name = info.dataset?.name ?? "";
    find("#dataset").textContent = [name, info.items && `${info.items.toLocaleString()} items`].filter(Boolean).join(" · ");
    if (info.attribution) {
      find("#attribution").hidden = false;
      find("#attribution p").textContent = info.attribution;
    }
    this.go(this.state);
  }

  /** A new question is a new step in the browser's history; a filter changes the step. */
  change(change, { refine = false } = {}) {
    const next = this.changed(change);
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
    this.state = state;
    const exploring = state.view === "explore";
    document.title = state.q ? `${state.q} · Diptych` : "Diptych";
    for (const button of find("#views").children)
      button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    find("#search-view").hidden = exploring;
    find("#explore-view").hidden = !exploring;
    find("#hero").classList.toggle("unseen", exploring || !isEmpty(state));
    this.box.show(state);
    if (!this.filters) return;
    this.filters.show(state);
    if (exploring) this.explore.show();
    else if (!this.isShown(state)) this.run();
  }

  /** Whoever comes back from exploring finds the results as they were. */
  isShown(state) {
    const same = (name) => JSON.stringify(state[name]) === JSON.stringify(this.shown?.[name]);
    return Boolean(this.shown) && state.image === this.shown.image && Object.keys(EMPTY).every((name) => name === "view" || same(name));
  }

  async run(more = false) {
    this.running?.abort();
    this.shown = this.state;
    find("#examples").hidden = !isEmpty(this.state);
    find("#controls").hidden = isEmpty(this.state);
    find("#more").hidden = true;
    if (isEmpty(this.state)) {
      this.results.clear();
      this.notices.clear();
      this.say("");
      return;
    }
    const asked = (this.running = new AbortController());
    this.offset = more ? this.offset + PAGE : 0;
    const waiting = setTimeout(() => this.wait(more), 120); // quick answers need no skeletons
    try {
      const { parts, options } = toQuery(this.state, this.filters);
      const wanted = { ...options, k: PAGE, offset: this.offset };
      this.show(await this.api.search(parts, wanted, this.state.image, asked.signal), more);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.shown = null;
      this.results.clear();
      this.notices.clear();
      if (error.code === "refused") this.results.nothing(capital(error.message), false);
      this.say(error.code === "refused" ? "" : capital(error.message), true);
    } finally {
      clearTimeout(waiting);
    }
  }

  wait(more) {
    if (more) return this.say("Loading more…");
    this.notices.clear();
    this.results.wait();
    return this.say("Searching…");
  }

  show(answer, more) {
    const { hits, closest, seconds, total } = answer;
    if (!more) this.notices.show(answer);
    if (!hits.length && !more) {
      const { strictness } = this.state;
      find("#more").hidden = true;
      const weak = closest !== null && closest < strictness / 100;
      const sentence = weak
        ? `The closest is only ${percent(closest)} likely to belong to this, and you asked for at least ${percent(strictness / 100)}.`
        : "Nothing in this index fits these filters.";
      this.results.nothing(sentence, weak);
      this.say("");
      return;
    }
    find("#nothing").hidden = true;
    this.results.show(hits, { append: more, far: answer.nothing_close });
    const shown = this.results.count;
    const known = Number.isInteger(total) && total >= shown;
    find("#more").hidden = hits.length < PAGE || (known && shown >= total);
    const time = seconds < 0.001 ? "under 1 ms" : `${Math.round(seconds * 1000)} ms`;
    this.say(`${counted(shown, known ? total : null, this.filters.unit(this.state))}, best first · ${time}`);
  }

  say(words, wrong = false) {
    const status = find("#status");
    status.textContent = words;
    status.classList.toggle("wrong", wrong);
  }

  key(event) {
    const typing = event.target.closest("input, dialog, canvas");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      find("#words").focus();
      find("#words").select();
    }
    if (event.key === "ArrowDown" && event.target.id === "words" && !event.defaultPrevented) {
      event.preventDefault();
      this.results.focusFirst();
    }
  }
}

const number = (count) => count.toLocaleString("en");

/** How many are on the page, of how many there are. */
function counted(shown, total, unit) {
  const many = (count) => `${number(count)} ${count === 1 ? unit : `${unit}s`}`;
  if (total === null) return `The first ${many(shown)}`;
  return total > shown ? `${number(shown)} of ${many(total)}` : many(shown);
}

const capital = (sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1);

new App().start();
