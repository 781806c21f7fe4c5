// What can be done with items: refine the search by them, label, edit, download, add, and delete with a way back.

import { each, itemAddress } from "/page/api.js";
import { percent } from "/page/dom.js";
import { counted, t } from "/page/i18n.js";
import { askText } from "/page/saved.js";
import { examplesOf, toast } from "/page/selection.js";
import { MOST_EXAMPLES } from "/page/state.js";

const DELETING = "/v1/items/delete";
const UNDO_S = 20;
const MOST_IDS = 5000; // in one request
const MOST_LEAVING = 60_000; // bytes: browsers send 64 KB for a page that is left, all its requests together

/** Do something with each and say what failed; promises what came of the others. */
async function forEach(all, act, tell) {
  const { found, errors } = await each(all, act, tell);
  if (errors.length) toast(t("failed.n", { n: errors.length, why: errors[0].message }));
  return found;
}

/** The bodies of requests that delete items; each is small enough to be sent by a page that is left. */
function deletions(hits) {
  const bodies = [];
  let room = 0;
  for (const { id } of hits) {
    const size = new Blob([JSON.stringify(id)]).size + 1;
    if (size > room || bodies.at(-1).ids.length === MOST_IDS) {
      bodies.push({ ids: [], whole: true, missing_ok: true });
      room = MOST_LEAVING;
    }
    bodies.at(-1).ids.push(id);
    room -= size;
  }
  return bodies;
}

/** Tell how far something has come; returns the toast that does. */
function preparing() {
  const end = toast(t("preparing"), { seconds: 0 });
  return Object.assign(end, { share: (share) => end.say(`${t("preparing")} ${percent(share)}`) });
}

export class Actions {
  leaving = new Map(); // deletions that can still be undone, each with what ends that

  constructor(app) {
    Object.assign(this, { app, api: app.api });
  }

  like(hit) {
    this.app.change({ q: "", image: null, like: [hit.id], unlike: [], sort: "", view: "search" });
  }

  /** Feedback: what was asked stays, and the selected items lead to more, or away. */
  refine(sign, hits) {
    const { app } = this;
    const other = sign === "like" ? "unlike" : "like";
    const chosen = examplesOf(hits);
    const rest = (name) => app.state[name].filter((id) => !chosen.includes(id));
    app.selection.clear();
    app.change({ [sign]: [...chosen, ...rest(sign)].slice(0, MOST_EXAMPLES), [other]: rest(other), view: "search" });
    if (hits.length > MOST_EXAMPLES) toast(t("examples.some", { n: MOST_EXAMPLES }));
  }

  placeOf(hit) {
    return this.app.results.hits.findIndex((one) => one.id === hit?.id);
  }

  /** Whether there is a result before or after another. */
  canStep(hit, by) {
    const [here, { hits }] = [this.placeOf(hit), this.app.results];
    return here >= 0 && (here + by in hits || (by > 0 && !this.app.done));
  }

  /** The result before or after another, which the viewer turns to; null at the ends. */
  async step(hit, by) {
    const { app } = this;
    const here = this.placeOf(hit);
    if (here + by >= app.results.hits.length && !app.done) await app.more();
    const next = here < 0 ? null : app.results.hits[here + by];
    if (!next) return null;
    app.at(next);
    return next;
  }

  closed(hit) {
    const { app } = this;
    app.left();
    const place = this.placeOf(hit);
    if (place >= 0 && app.state.view === "search") app.results.grid.focus(place);
  }

  async download(kind, hits) {
    const end = preparing();
    try {
      const { download } = await import("/page/download.js");
      const missing = await download(this.api, kind, hits, end.share);
      if (missing) toast(t("download.missing", { n: missing }));
    } catch (error) {
      toast(error.message);
    } finally {
      end();
    }
  }

  async edit(hit, change) {
    if (change.text || Object.keys(change.metadata).length) await this.api.send("PATCH", itemAddress(hit.id), change);
    const { metadata, entries } = await this.api.item(hit.id);
    Object.assign(hit, { metadata, entries });
    this.refresh([hit]);
    toast(t("changed"));
    return hit;
  }

  refresh(hits) {
    this.app.forgetSteps();
    for (const hit of hits) this.app.results.grid.refresh(this.placeOf(hit));
  }

  /** Give items a class: in the index, and as an answer to learn from. */
  async label(hits) {
    const { app } = this;
    const label = await askText(t("label.title", { items: counted(hits.length) }), { choices: app.filters.classes, go: t("label") });
    if (!label) return;
    const end = hits.length > 20 ? preparing() : null;
    const before = new Map();
    const write = async (hit, value) => {
      await this.api.send("PATCH", itemAddress(hit.id), { metadata: { label: value } });
      if (hit.metadata) hit.metadata = { ...hit.metadata, label: value ?? undefined };
      return hit;
    };
    const done = await forEach(hits, async (hit) => {
      const { metadata } = hit.metadata ? hit : await this.api.item(hit.id);
      before.set(hit, metadata.label ?? null);
      return write(hit, label);
    }, end?.share);
    const items = done.map((hit) => hit.item || hit.id);
    const answers = [];
    for (let from = 0; from < items.length; from += MOST_IDS) {
      const taught = await this.api.send("PUT", "/v1/labels", { items: items.slice(from, from + MOST_IDS), label }).catch(() => null);
      answers.push(...(taught?.before ?? []));
    }
    end?.();
    const changed = () => {
      this.refresh(hits);
      app.stale("explore", "teach");
    };
    const run = async () => {
      await forEach(done, (hit) => write(hit, before.get(hit)));
      await this.api.restoreAnswers(items.slice(0, answers.length), answers).catch(() => {});
      changed();
    };
    app.selection.clear();
    changed();
    if (done.length) toast(t("labelled", { n: done.length, label }), { action: t("undo"), run, seconds: UNDO_S });
    app.info.classes = { [label]: 0, ...app.info.classes };
  }

  /** Items vanish at once and are deleted a little later, so that the person can think better of it. */
  remove(hits) {
    const { app } = this;
    const hide = (yes) => {
      app.results.hide(hits, yes);
      app.dress();
      app.tell();
    };
    const run = () => {
      clearTimeout(timer);
      this.leaving.delete(hits);
      hide(false);
    };
    const timer = setTimeout(() => this.removeNow(hits), UNDO_S * 1000);
    const end = toast(t("deleted", { n: hits.length }), { action: t("undo"), run, seconds: UNDO_S });
    this.leaving.set(hits, () => {
      clearTimeout(timer);
      end();
    });
    hide(true);
    app.selection.clear();
  }

  async removeNow(hits) {
    const { app } = this;
    this.leaving.get(hits)?.(); // a page that comes back has none
    const { found, errors } = await each(deletions(hits), async (body) => {
      await this.api.send("POST", DELETING, body);
      return body.ids.length;
    });
    this.leaving.delete(hits);
    const gone = app.results.drop(hits);
    app.offset -= gone; // what comes next has moved up
    if (app.total !== null) app.total -= gone;
    app.forgetSteps();
    app.stale("explore", "teach");
    await app.learnInfo();
    if (!errors.length) return;
    toast(t("failed.n", { n: found.reduce((left, n) => left - n, hits.length), why: errors[0].message }));
    app.again();
  }

  get leavingHits() {
    return [...this.leaving.keys()].flat();
  }

  get leavingItems() {
    return this.leavingHits.length;
  }

  /** What a page that is left could not send is deleted while the browser asks whether to leave. */
  beforeLeaving(event) {
    if (deletions(this.leavingHits).length < 2) return;
    event.preventDefault();
    for (const hits of this.leaving.keys()) this.removeNow(hits);
  }

  /** Whoever leaves the page has decided. */
  finish() {
    const headers = { "Content-Type": "application/json", ...this.api.headers() };
    for (const [place, body] of deletions(this.leavingHits).entries())
      fetch(DELETING, { method: "POST", headers, body: JSON.stringify(body), keepalive: place === 0 }).catch(() => {});
    this.leaving.clear();
  }

  async upload(files = []) {
    const { Upload } = await import("/page/upload.js");
    new Upload(this.app).open(files);
  }

  async added() {
    await this.app.learnInfo();
    this.app.again();
    this.app.stale("explore");
  }
}
