// Teach: name what helps most, see it spread, learn from it, compare, and go back if it was better before.

import { player } from "/page/audio.js";
import { bar, button, find, findAll, iconButton, make, number, options, percent, save } from "/page/dom.js";
import { counted, t } from "/page/i18n.js";
import { nameOf, opener } from "/page/results.js";
import { classInput } from "/page/saved.js";
import { toast } from "/page/selection.js";
import { recentQueries } from "/page/suggest.js";

const QUESTIONS = 8;
const CHECKED = 60;
const MOST_CHECKED = 500; // that the server lists at once
const POLL_MS = 1000;

export class View {
  constructor(app) {
    Object.assign(this, { app, api: app.api, cards: [], chosen: new Set(), active: 0, label: null, done: [], status: null, turn: 0, waiting: 0 });
    this.root = find("#teach-view");
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  build() {
    [this.input, this.known] = classInput([], "teach-classes", { placeholder: t("teach.type"), ariaLabel: t("teach.type") });
    const onsubmit = (event) => {
      event.preventDefault();
      const label = this.input.value.trim();
      this.input.value = "";
      if (label) this.answer({ label });
    };
    this.back = button(t("teach.back"), () => this.check(null), { hidden: true });
    this.undoing = button(`${t("undo")} (Z)`, () => this.undo(), { disabled: true });
    const form = make("form", { onsubmit }, this.input, this.known, make("button.primary", t("label")),
      button(t("teach.none"), () => this.answer({ answer: "none" })), button(t("teach.skip"), () => this.answer({ answer: "skip" })), this.undoing);
    this.title = make("h2", t("teach.ask"));
    this.says = make("p.quiet", { role: "status" }, t("teach.how"));
    this.keys = make("div.classes", { role: "group", "aria-label": t("teach.classes") });
    this.list = make("ol.ask", { "aria-label": t("teach.ask") });
    this.further = button(t("teach.more"), () => this.check(this.label, Math.min(MOST_CHECKED, this.limit * 2)), { hidden: true });
    this.figures = make("dl.figures");
    this.learning = make("div.learning");
    this.fills = make("ul.fills");
    const take = make("input", { type: "file", accept: ".csv,text/csv", class: "unseen", tabIndex: -1, "aria-hidden": "true", onchange: () => this.import(take) });
    const files = make("div.actions", button(t("teach.export"), () => this.export()), button(t("teach.import"), () => take.click()), take);
    this.panel = make("section.panel", { "aria-label": t("teach.classes") }, this.figures, this.learning, make("h3", t("teach.classes")), this.fills, files);
    this.compared = make("section.compare", { "aria-label": t("teach.compare"), hidden: true });
    this.top = make("div.naming", make("div.head", this.title, this.back), this.says, form, this.keys);
    this.root.replaceChildren(make("div", this.top, this.list, this.further), this.panel, this.compared);
  }

  speak() {
    this.build();
    if (this.status) this.show();
  }

  stale() {
    if (this.app.state.view === "teach") this.show();
  }

  async show() {
    try {
      this.update(await this.api.json("/v1/teach"));
      await (this.label === null ? this.ask() : this.check(this.label));
      this.follow(await this.api.json("/v1/learn"));
    } catch (error) {
      this.list.replaceChildren();
      this.says.textContent = `${t("error.title")}: ${error.message}`;
    }
  }

  /** Questions that are still open move up, new ones come after them. */
  async ask() {
    const turn = ++this.turn;
    const { questions, classes } = await this.api.json(`/v1/teach/next?n=${QUESTIONS}`);
    if (turn !== this.turn) return; // something else was asked for meanwhile
    this.classes = classes;
    const open = new Map(questions.map((one) => [one.item, one]));
    const kept = this.cards.filter((card) => card.reason && open.has(card.item));
    this.cards = [...new Set([...kept.map((card) => card.item), ...open.keys()])].map((item) => open.get(item));
    this.title.textContent = t(this.cards.length ? "teach.ask" : "view.teach");
    this.says.textContent = this.cards.length ? t("teach.how") : t("teach.done");
    this.back.hidden = this.further.hidden = true;
    this.render();
  }

  /** What was put into a class, the least certain first, to correct mistakes where they are seen; null asks again. */
  async check(label, limit = CHECKED) {
    if (label !== this.label) this.chosen.clear();
    if (limit === CHECKED) this.active = 0;
    Object.assign(this, { label, limit });
    if (label === null) this.cards = [];
    if (label === null) return this.ask().then(() => this.fill());
    const turn = ++this.turn;
    const { items, total } = await this.api.json(`/v1/teach/items?${new URLSearchParams({ label, order: "uncertain", limit })}`);
    if (turn !== this.turn) return undefined;
    this.cards = items;
    this.title.textContent = label;
    this.says.textContent = t("teach.checking", { items: counted(total), label });
    this.back.hidden = false;
    this.further.hidden = limit >= Math.min(total, MOST_CHECKED);
    this.fill();
    return this.render();
  }

  render() {
    const names = [...new Set([...(this.classes ?? []), ...(this.status?.classes ?? []).map(({ label }) => label)])];
    this.known.replaceChildren(...options(names));
    this.order = names.slice(0, 9);
    this.keys.replaceChildren(...names.slice(0, 40).map((label, place) => button([place < 9 && make("kbd", place + 1), label], () => this.answer({ label }), { "data-label": label })));
    this.top.classList.toggle("idle", !this.cards.length);
    this.active = Math.min(this.active, Math.max(0, this.cards.length - 1));
    const focused = this.list.contains(document.activeElement);
    this.list.replaceChildren(...this.cards.map((card, place) => this.card(card, place)));
    if (focused) this.focus(this.active);
    else this.point(this.active);
    this.undoing.disabled = !this.done.length;
  }

  card(item, place) {
    const chosen = this.chosen.has(item.item);
    const open = opener(item, this.api, { ariaPressed: chosen, onclick: () => this.toggle(place), onfocus: () => this.point(place) });
    const look = iconButton("lens", t("look", { name: nameOf(item).slice(0, 80) }), () => this.app.open(item), { className: "like icon" });
    return make("li", { className: `card${chosen ? " chosen" : ""}`, "data-item": item.item, "data-reason": item.reason }, open, look, player(item, { api: this.api, name: nameOf(item) }), this.guess(item));
  }

  guess(item) {
    const known = item.guess !== null && item.guess !== undefined;
    const sure = item.taught ? 1 : (item.certainty ?? 0);
    const told = item.taught ? t("teach.given") : known ? (sure >= 0.5 ? t("teach.sure", { p: percent(sure) }) : t("teach.unsure")) : item.reason === "cluster" && item.cluster_size ? t("teach.group", { n: item.cluster_size }) : t("teach.unknown");
    return make("div", { className: `guess${sure < 0.5 ? " unsure" : ""}` }, known && make("strong", item.guess), make("span", told), known && bar(sure));
  }

  toggle(place) {
    const { item } = this.cards[place];
    if (!this.chosen.delete(item)) this.chosen.add(item);
    const card = this.list.children[place];
    card.classList.toggle("chosen", this.chosen.has(item));
    find(".open", card).ariaPressed = this.chosen.has(item);
    this.focus(place);
  }

  /** The card that an answer is for while none is selected. */
  point(place) {
    this.active = place;
    for (const [at, card] of [...this.list.children].entries()) card.classList.toggle("active", at === place && !this.chosen.size);
  }

  focus(place) {
    this.point(Math.max(0, Math.min(this.cards.length - 1, place)));
    find(".open", this.list.children[this.active] ?? this.list)?.focus();
  }

  key(event) {
    if (this.app.state.view !== "teach" || find("dialog[open]") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, summary")) return;
    const key = event.key.toLowerCase();
    const across = Math.max(1, Math.round(this.list.clientWidth / 232));
    const step = { arrowright: 1, arrowleft: -1, arrowdown: across, arrowup: -across }[key];
    if (/^[1-9]$/.test(key) && this.order?.[key - 1]) this.answer({ label: this.order[key - 1] });
    else if (key === "0") this.answer({ answer: "none" });
    else if (key === "s") this.answer({ answer: "skip" });
    else if (key === "z") this.undo();
    else if (step) this.focus(this.active + step);
    else if (key === "/" || key === "n") this.input.focus();
    else return;
    event.preventDefault();
  }

  answer(said) {
    return this.inTurn((here) => this.answerNow(said, here));
  }

  undo() {
    return this.inTurn((here) => this.undoNow(here));
  }

  /** Answers are taken one after another, however quickly they come; each knows where the focus was. */
  inTurn(act) {
    const here = document.activeElement;
    this.waiting += 1;
    this.list.ariaBusy = true;
    this.queue = (this.queue ?? Promise.resolve()).then(() => act(here)).catch((error) => toast(error.message)).then(() => {
      this.waiting -= 1;
      this.list.ariaBusy = this.waiting > 0;
    });
    return this.queue;
  }

  /** Name what is selected, else the card that has the focus. */
  async answerNow(said, here) {
    const items = this.chosen.size ? [...this.chosen] : this.cards[this.active] ? [this.cards[this.active].item] : [];
    if (!items.length) return;
    for (const card of this.list.children) if (items.includes(card.dataset.item)) card.classList.add("answered");
    try {
      const { before, status } = await this.api.send("PUT", "/v1/labels", { items, ...said });
      this.done.push({ items, before });
      await this.after(status, here);
    } catch (error) {
      toast(error.message);
      this.render();
    }
  }

  async after(status, here) {
    this.chosen.clear();
    this.active = 0;
    this.update(status);
    await (this.label === null ? this.ask() : this.check(this.label, this.limit));
    this.app.stale("explore");
    const moved = document.activeElement !== here && document.activeElement !== document.body;
    if (!moved && !this.input.matches(":focus")) this.focus(this.active); // whoever went elsewhere stays there
  }

  async undoNow(here) {
    const last = this.done.pop();
    if (!last) return;
    await this.after(await this.api.restoreAnswers(last.items, last.before), here);
  }

  update(status) {
    this.status = status;
    const held = status.held_out;
    const figure = (name, value, more) => make("div", make("dt", t(name)), make("dd", value, make("small", more)));
    this.figures.replaceChildren(
      figure("teach.answered", number(status.answered), status.dataset ? t("teach.data", { n: status.dataset }) : counted(status.items)),
      figure("teach.spread", number(status.spread), `${t("teach.uncertain", { n: status.uncertain + status.unreached })} · ${Math.max(1, Math.round(status.seconds * 1000))} ms`),
      figure("teach.accuracy", held ? percent(held.accuracy) : "–", held ? t("teach.held", { low: percent(held.low), high: percent(held.high), n: held.answers }) : t("teach.later")),
    );
    this.fill();
    if (!find("progress", this.learning)) this.offer(this.told);
  }

  fill() {
    const most = Math.max(1, ...this.status.classes.map(({ taught, dataset, spread }) => taught + dataset + spread));
    const focused = this.fills.contains(document.activeElement) ? document.activeElement.dataset.label : null;
    this.fills.replaceChildren(
      ...this.status.classes.map(({ label, taught, dataset, spread, certain }) => {
        const parts = [taught + dataset, certain, spread - certain].map((value) => make("i", { style: `width: ${(100 * value) / most}%` }));
        const title = t("teach.fills", { taught, given: dataset, spread, certain });
        const isChecked = this.label === label;
        const content = [make("span", label), make("small", `${number(taught + dataset)} + ${number(spread)}`), make("span.fill", parts)];
        return make("li", button(content, () => this.check(isChecked ? null : label), { "data-label": label, title, ariaLabel: `${label}: ${title}`, ariaPressed: isChecked }));
      }),
    );
    if (focused !== null) findAll("button", this.fills).find((one) => one.dataset.label === focused)?.focus();
  }

  offer(words = "") {
    const possible = this.status.classes.filter(({ taught }) => taught).length + (this.status.dataset ? 2 : 0) >= 2;
    this.learning.replaceChildren(make("p.quiet", { role: "status" }, words || (possible ? "" : t("teach.two"))), button(t("teach.learn"), () => this.learn(), { class: "primary learn", disabled: !possible }));
  }

  async learn() {
    try {
      this.follow(await this.api.send("POST", "/v1/learn"));
    } catch (error) {
      this.offer(error.message);
    }
  }

  /** Show how far learning is, as long as it runs. */
  async follow(state) {
    clearTimeout(this.polling);
    if (state.state === "running") {
      const share = state.fraction ?? 0;
      const words = t("teach.learning", { phase: state.phase ?? "", p: percent(share) });
      if (!find("progress", this.learning)) this.learning.replaceChildren(make("p", { role: "status" }), make("progress", { max: 1 }), button(t("cancel"), () => this.stop()));
      find("p", this.learning).textContent = words;
      find("progress", this.learning).value = share;
      find("progress", this.learning).ariaLabel = words;
      this.wasRunning = true;
      this.polling = setTimeout(async () => this.follow(await this.api.json("/v1/learn").catch(() => state)), POLL_MS);
      return;
    }
    if (state.state === "failed" && this.wasRunning) this.told = `${t("error.title")}: ${state.error ?? ""}`;
    else if (state.state === "done" && this.wasRunning) this.told = t("teach.learned");
    this.offer(this.told);
    if (state.state === "done" && this.wasRunning) await this.changedModel();
    this.wasRunning = false;
    await this.compare();
  }

  async stop() {
    this.follow(await this.api.json("/v1/learn", { method: "DELETE" }).catch((error) => ({ state: "failed", error: error.message })));
  }

  async changedModel() {
    const { app } = this;
    await app.learnInfo();
    app.shown = null; // what was found before is found anew
    app.stale("explore");
    this.update(await this.api.json("/v1/teach"));
  }

  /** The person's own recent searches by the model before and the one now, and the way back. */
  async compare() {
    const { models } = await this.api.json("/v1/models").catch(() => ({ models: [] }));
    const active = models.findIndex((one) => one.active);
    const before = models.slice(active + 1).find((one) => one.kept) ?? models.find((one) => one.kept && !one.active);
    this.compared.hidden = !before;
    if (!before) return;
    const revert = button(t("teach.revert"), () => this.revert(before.id), { class: "revert" });
    const head = make("div.head", make("h2", t("teach.compare")), revert);
    this.compared.replaceChildren(head);
    const queries = recentQueries().slice(0, 4);
    const asked = queries.length ? queries : (this.app.info.examples ?? []).slice(0, 3);
    const said = new URLSearchParams([...asked.map((q) => ["q", q]), ["k", "10"], ["before", before.id]]);
    const found = await this.api.json(`/v1/models/compare?${said}`).catch(() => null);
    if (found) this.compared.replaceChildren(head, ...found.queries.map((one) => this.pair(one)));
  }

  pair({ query, before, after }) {
    const known = new Set(before.map((hit) => hit.item));
    const strip = (hits, fresh) => make("div.strip", { tabIndex: 0, role: "group", "aria-label": query }, ...hits.map((hit) => {
      const shown = hit.media ? make("img", { alt: nameOf(hit), loading: "lazy" }) : make("div.words", nameOf(hit));
      if (hit.media) this.api.show(shown, hit.media);
      return make("figure", { class: fresh && !known.has(hit.item) ? "new" : "" }, shown, make("figcaption", nameOf(hit)));
    }));
    return make("div", make("h3", query), make("div.rows", make("span.quiet", t("teach.before")), strip(before, false), make("span.quiet", t("teach.after")), strip(after, true)));
  }

  async revert(id) {
    try {
      await this.api.send("POST", `/v1/models/${encodeURIComponent(id)}/activate`);
      await this.changedModel();
      toast(t("teach.reverted"));
      await this.compare();
    } catch (error) {
      toast(error.message);
    }
  }

  async export() {
    save(await (await this.api.fetch("/v1/labels.csv")).blob(), "labels.csv");
  }

  async import(input) {
    try {
      const found = await this.api.json("/v1/labels.csv", { method: "PUT", headers: { "Content-Type": "text/csv" }, body: await input.files[0].text() });
      toast([t("teach.imported", { n: found.count }), ...found.problems.slice(0, 2).map((one) => one.message)].join(" · "));
      await this.after(found.status, document.activeElement);
    } catch (error) {
      toast(error.message);
    }
  }
}
