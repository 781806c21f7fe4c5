// What can be done with items: refine the search by them, label, edit, download, add, and delete with a way back.

import { itemAddress } from "/page/api.js";
import { percent } from "/page/dom.js";
import { counted, t } from "/page/i18n.js";
import { askText } from "/page/saved.js";
import { download, examplesOf, toast } from "/page/selection.js";
import { MOST_EXAMPLES, toAddress } from "/page/state.js";

const UNDO_S = 20;
const AT_ONCE = 4;

/** Do something for each, a few at a time; says what failed. */
async function forEach(items, act) {
  const failed = [];
  const rest = [...items];
  const worker = async () => {
    for (let one = rest.shift(); one; one = rest.shift()) await act(one).catch((error) => failed.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (failed.length) toast(t("failed.n", { n: failed.length, why: failed[0].message }));
  return !failed.length;
}

/** Tell how far something has come; returns the toast that does. */
function preparing() {
  const end = toast(t("preparing"), { seconds: 0 });
  return Object.assign(end, { share: (share) => end.say(`${t("preparing")} ${percent(share)}`) });
}

export class Actions {
  leaving = new Set(); // deletions that can still be undone

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

  /** The result before or after another, which the viewer turns to; null at the ends. */
  async step(hit, by) {
    const { app } = this;
    const here = this.placeOf(hit);
    if (here + by >= app.results.hits.length && !app.done) await app.more();
    const next = here < 0 ? null : app.results.hits[here + by];
    if (!next) return null;
    app.state = { ...app.state, item: next.id };
    history.replaceState(null, "", toAddress(app.state));
    return next;
  }

  closed(hit) {
    const { app } = this;
    if (app.state.item) app.change({ item: "" }, { refine: true });
    const place = this.placeOf(hit);
    if (place >= 0 && app.state.view === "search") app.results.grid.focus(place);
  }

  async download(kind, hits) {
    const end = preparing();
    try {
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
    for (const hit of hits) this.app.results.grid.refresh(this.placeOf(hit));
  }

  /** Give items a class: in the index, and as an answer to learn from. */
  async label(hits) {
    const { app } = this;
    const label = await askText(t("label.title", { items: counted(hits.length) }), { choices: app.filters.classes, go: t("label") });
    if (!label) return;
    const before = hits.map((hit) => [hit, hit.metadata?.label ?? null]);
    const end = hits.length > 20 ? preparing() : null;
    let written = 0;
    const write = (pairs) => forEach(pairs, async ([hit, value]) => {
      await this.api.send("PATCH", itemAddress(hit.id), { metadata: { label: value } });
      written += 1;
      end?.share(written / pairs.length);
      if (hit.metadata) hit.metadata = { ...hit.metadata, label: value ?? undefined };
    });
    const items = hits.map((hit) => hit.item || hit.id);
    const done = await write(hits.map((hit) => [hit, label]));
    await this.api.send("PUT", "/v1/labels", { items: items.slice(0, 5000), label }).catch(() => {});
    end?.();
    app.selection.clear();
    this.refresh(hits);
    const run = async () => {
      await write(before);
      const query = new URLSearchParams(items.slice(0, 200).map((item) => ["item", item]));
      await this.api.fetch(`/v1/labels?${query}`, { method: "DELETE" }).catch(() => {});
      this.refresh(hits);
    };
    if (done) toast(t("labelled", { n: hits.length, label }), { action: t("undo"), run, seconds: UNDO_S });
    app.info.classes = { [label]: 0, ...app.info.classes };
    app.stale("explore", "teach");
  }

  /** Items vanish at once and are deleted a little later, so that the person can think better of it. */
  remove(hits) {
    const { app } = this;
    const { results } = app;
    const before = [results.hits, results.loaded];
    const ids = new Set(hits.map((hit) => hit.id));
    const gone = results.remove(ids);
    const count = (sign) => {
      if (app.total !== null) app.total += sign * gone;
      app.info.items += sign * ids.size;
      app.dress();
      app.tell();
    };
    count(-1);
    app.selection.clear();
    const run = () => {
      clearTimeout(timer);
      this.leaving.delete(hits);
      results.replace(...before);
      count(1);
    };
    const end = toast(t("deleted", { n: ids.size }), { action: t("undo"), run, seconds: UNDO_S });
    this.leaving.add(hits);
    const timer = setTimeout(async () => {
      end();
      this.leaving.delete(hits);
      if (!(await forEach(hits, (hit) => this.api.fetch(`${itemAddress(hit.id)}?whole=true`, { method: "DELETE" })))) app.again();
    }, UNDO_S * 1000);
  }

  /** Whoever leaves the page has decided. */
  finish() {
    for (const hit of [...this.leaving].flat()) fetch(`${itemAddress(hit.id)}?whole=true`, { method: "DELETE", headers: this.api.headers(), keepalive: true });
    this.leaving.clear();
  }

  async upload() {
    const { Upload } = await import("/page/upload.js");
    new Upload(this.app).open();
  }

  async added() {
    await this.app.learnInfo();
    this.app.again();
    this.app.stale("explore");
  }
}
