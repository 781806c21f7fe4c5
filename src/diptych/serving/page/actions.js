// What can be done with items: refine the search by them, label, edit, download, add, and delete with a way back.

import { percent } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { askText } from "/page/saved.js";
import { counted, download, examplesOf, toast } from "/page/selection.js";
import { MOST_EXAMPLES } from "/page/state.js";

const UNDO_S = 20;
const AT_ONCE = 4;

/** Do something for each, a few at a time; returns what failed. */
async function forEach(items, act) {
  const failed = [];
  const rest = [...items];
  const worker = async () => {
    for (let one = rest.shift(); one; one = rest.shift()) await act(one).catch((error) => failed.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failed;
}

export class Actions {
  constructor(app) {
    this.app = app;
    this.leaving = new Map(); // deletions that can still be undone
  }

  get api() {
    return this.app.api;
  }

  get classes() {
    return [...new Set([...(this.app.filters?.counts?.keys() ?? []), ...Object.keys(this.app.info?.classes ?? {})])];
  }

  forViewer() {
    return {
      like: (hit) => this.like(hit),
      remove: (hits) => this.remove(hits),
      edit: (hit, change) => this.edit(hit, change),
      select: (hit) => this.app.selection.toggle(hit),
      download: (hit) => this.download("zip", [hit]),
      step: (hit, by) => this.step(hit, by),
      closed: (hit) => this.closed(hit),
    };
  }

  like(hit) {
    this.app.change({ q: "", image: null, like: [hit.id], unlike: [], sort: "", view: "search" });
  }

  /** Feedback: what was asked stays, and the selected items lead to more, or away. */
  refine(sign, hits) {
    const { app } = this;
    const other = sign === "like" ? "unlike" : "like";
    const chosen = examplesOf(hits);
    const before = app.state[sign].filter((id) => !chosen.includes(id));
    app.selection.clear();
    app.change({ [sign]: [...chosen, ...before].slice(0, MOST_EXAMPLES), [other]: app.state[other].filter((id) => !chosen.includes(id)), view: "search" });
    if (hits.length > MOST_EXAMPLES) toast(t("examples.some", { n: MOST_EXAMPLES }));
  }

  async step(hit, by) {
    const { results } = this.app;
    const here = results.hits.findIndex((one) => one.id === hit.id);
    if (here + by >= results.hits.length && !this.app.done) await this.app.more();
    const next = here < 0 ? null : results.hits[here + by];
    if (!next) return null;
    this.app.state = { ...this.app.state, item: next.id };
    history.replaceState(null, "", location.pathname + location.search.replace(/([?&]item=)[^&]*/, `$1${encodeURIComponent(next.id)}`));
    return next;
  }

  closed(hit) {
    const { app } = this;
    if (app.state.item) app.change({ item: "" }, { refine: true });
    const place = app.results.hits.findIndex((one) => one.id === hit?.id);
    if (place >= 0 && app.state.view === "search") app.results.grid.focus(place);
  }

  async download(kind, hits) {
    const end = toast(t("preparing"), { seconds: 0 });
    try {
      const missing = await download(this.api, kind, hits, (share) => end.say(t("preparing.share", { p: percent(share) })));
      if (missing) toast(t("download.missing", { n: missing }));
    } catch (error) {
      toast(error.message);
    } finally {
      end();
    }
  }

  async edit(hit, change) {
    if (change.text || Object.keys(change.metadata).length) await this.api.send("PATCH", `/v1/items/${encodeURIComponent(hit.id)}`, change);
    const fresh = await this.api.item(hit.id);
    Object.assign(hit, { metadata: fresh.metadata, entries: fresh.entries });
    this.refresh([hit]);
    toast(t("changed"));
    return hit;
  }

  refresh(hits) {
    const { results } = this.app;
    for (const hit of hits) results.grid.refresh(results.hits.findIndex((one) => one.id === hit.id));
  }

  async label(hits) {
    const given = await askText(t("label.title", { items: counted(hits.length) }), { choices: this.classes, go: t("label") });
    if (given) await this.name(hits, given);
  }

  /** Give items a class: in the index, and as an answer to learn from. */
  async name(hits, label) {
    const { app } = this;
    const before = hits.map((hit) => [hit, hit.metadata?.label ?? null]);
    const end = hits.length > 20 ? toast(t("preparing"), { seconds: 0 }) : null;
    let written = 0;
    const write = (pairs) => forEach(pairs, async ([hit, value]) => {
      await this.api.send("PATCH", `/v1/items/${encodeURIComponent(hit.id)}`, { metadata: { label: value } });
      written += 1;
      end?.say(t("preparing.share", { p: percent(written / pairs.length) }));
      if (hit.metadata) hit.metadata = { ...hit.metadata, label: value ?? undefined };
    });
    const failed = await write(hits.map((hit) => [hit, label]));
    const items = hits.map((hit) => hit.item || hit.id);
    await this.api.send("PUT", "/v1/labels", { items: items.slice(0, 5000), label }).catch(() => {});
    end?.();
    app.selection.clear();
    this.refresh(hits);
    const back = async () => {
      await write(before);
      const query = new URLSearchParams(items.slice(0, 200).map((item) => ["item", item]));
      await this.api.fetch(`/v1/labels?${query}`, { method: "DELETE" }).catch(() => {});
      this.refresh(hits);
    };
    if (failed.length) toast(t("failed.n", { n: failed.length, why: failed[0].message }));
    else toast(t("labelled", { n: hits.length, label }), { action: t("undo"), run: back, seconds: UNDO_S });
    app.info.classes = { [label]: 0, ...app.info.classes };
    for (const name of ["explore", "teach"]) app.views[name]?.then((view) => view?.stale());
  }

  /** Items vanish at once and are deleted a little later, so that the person can think better of it. */
  remove(hits) {
    const { app } = this;
    const { results } = app;
    const before = { hits: results.hits, loaded: results.loaded, total: app.total };
    const ids = new Set(hits.map((hit) => hit.id));
    const gone = results.remove(ids);
    if (app.total !== null) app.total -= gone;
    app.info.items -= ids.size;
    app.countItems();
    app.tell();
    app.selection.clear();
    const mark = Symbol("deletion");
    const undo = () => {
      clearTimeout(this.leaving.get(mark)?.timer);
      this.leaving.delete(mark);
      Object.assign(results, { hits: before.hits, loaded: before.loaded });
      app.total = before.total;
      app.info.items += ids.size;
      results.grid.clear();
      results.grid.set(results.hits.length, 0);
      app.countItems();
      app.tell();
    };
    const end = toast(t("deleted", { n: ids.size }), { action: t("undo"), run: undo, seconds: UNDO_S });
    this.leaving.set(mark, { hits, timer: setTimeout(() => { end(); this.commit(mark); }, UNDO_S * 1000) });
  }

  async commit(mark, options = {}) {
    const { hits } = this.leaving.get(mark);
    this.leaving.delete(mark);
    const failed = await forEach(hits, (hit) => this.api.fetch(`/v1/items/${encodeURIComponent(hit.id)}?whole=true`, { method: "DELETE", ...options }));
    if (failed.length) {
      toast(t("failed.n", { n: failed.length, why: failed[0].message }));
      this.app.shown = null;
      this.app.go(this.app.state);
    }
  }

  /** Whoever leaves the page has decided. */
  finish() {
    for (const [, { hits }] of this.leaving) for (const hit of hits) fetch(`/v1/items/${encodeURIComponent(hit.id)}?whole=true`, { method: "DELETE", headers: this.api.headers(), keepalive: true });
    this.leaving.clear();
  }

  async upload() {
    const { Upload } = await import("/page/upload.js");
    const adding = new Upload(this.api, () => this.added());
    adding.limit = this.app.info.limits.max_upload_bytes;
    adding.open(this.classes);
  }

  async added() {
    const { app } = this;
    app.info = { ...(await this.api.json("/v1/info").catch(() => app.info)) };
    app.countItems();
    app.shown = null;
    app.go(app.state);
    app.views.explore?.then((view) => view?.stale());
  }
}
