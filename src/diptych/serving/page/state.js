// What is being asked, and the address that says it.

export const EMPTY = Object.freeze({
  q: "", like: [], unlike: [], into: "", purpose: "", mode: "", exact: false, classes: [], splits: [], strictness: 0,
  sort: "", group: true, view: "search", item: "", image: null,
});
export const MOST_EXAMPLES = 14; // items that lead a query to them or away from them
const VIEWS = ["search", "explore", "teach"];

export function fromAddress(address = location) {
  const given = new URLSearchParams(address.search);
  const strictness = Math.min(95, Math.max(0, Number(given.get("p")) || 0));
  return {
    ...EMPTY,
    q: (given.get("q") ?? "").slice(0, 2000),
    like: given.getAll("like").filter(Boolean).slice(0, MOST_EXAMPLES),
    unlike: given.getAll("unlike").filter(Boolean).slice(0, MOST_EXAMPLES),
    into: given.get("in") === "all" ? "" : given.get("in") ?? "",
    purpose: given.get("for") ?? "",
    mode: given.get("mode") ?? "",
    exact: given.get("exact") === "1",
    classes: given.getAll("class"),
    splits: given.getAll("split"),
    strictness,
    sort: ["name", "date"].includes(given.get("sort")) ? given.get("sort") : "",
    group: given.get("group") !== "0",
    view: VIEWS.includes(given.get("view")) ? given.get("view") : "search",
    item: given.get("item") ?? "",
  };
}

/** An image of one's own is not part of the address: it stays with the person. */
export function toAddress(state) {
  const said = new URLSearchParams();
  if (state.q) said.set("q", state.q);
  for (const id of state.like) said.append("like", id);
  for (const id of state.unlike) said.append("unlike", id);
  if (state.into) said.set("in", state.into);
  if (state.purpose) said.set("for", state.purpose);
  if (state.mode) said.set("mode", state.mode);
  if (state.exact) said.set("exact", "1");
  for (const name of state.classes) said.append("class", name);
  for (const name of state.splits) said.append("split", name);
  if (state.strictness) said.set("p", String(state.strictness));
  if (state.sort) said.set("sort", state.sort);
  if (!state.group) said.set("group", "0");
  if (state.view !== "search") said.set("view", state.view);
  if (state.item) said.set("item", state.item);
  const text = said.toString();
  return text ? `/?${text}` : "/";
}

export const asksNothing = (state) => !state.q && !state.like.length && !state.unlike.length && !state.image;

/** Whether two states have the same results. */
export function sameResults(one, other) {
  const apart = ["view", "item", "image", "group"];
  const said = (state) => JSON.stringify(Object.entries(state).filter(([name]) => !apart.includes(name)));
  return Boolean(one && other) && one.image === other.image && one.group === other.group && said(one) === said(other);
}

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const oneOf = (key, names) => (names.length ? [`${key} in (${names.map(quoted).join(", ")})`] : []);

export function conditionOf(state, { withoutClasses = false } = {}) {
  return [...oneOf("label", withoutClasses ? [] : state.classes), ...oneOf("split", state.splits)].join(" and ");
}

/** The query as the server takes it; `modalities`, `purposes` and `modes` are those the index has. */
export function toQuery(state, { modalities, purposes, modes }, { withoutClasses = false } = {}) {
  const parts = [];
  if (state.q) parts.push({ kind: "text", text: state.q });
  const share = (ids, weight) => ids.map((id) => ({ kind: "item", id, weight: weight / Math.sqrt(ids.length) }));
  parts.push(...share(state.like, 1), ...share(state.unlike, -0.6));
  const where = conditionOf(state, { withoutClasses });
  const into = effectiveInto(state, modalities);
  const options = {};
  if (state.strictness) options.min_probability = state.strictness / 100;
  const purpose = effectivePurpose(state, purposes);
  const mode = effectiveMode(state, modes);
  if (into) options.into = into;
  if (mode) options.mode = mode;
  if (state.exact) options.correct = false;
  if (purpose) options.purpose = purpose;
  if (where) options.where = where;
  if (state.sort) options.sort = state.sort;
  return { parts, options };
}

/** Unless told otherwise, whole items are looked for, with all their sides. */
export const effectiveInto = (state, modalities) => (modalities.includes(state.into) && !asksNothing(state) ? state.into : "");

/** Nothing means words and meaning together. */
export const effectiveMode = (state, modes) => (modes.includes(state.mode) && state.mode !== "hybrid" ? state.mode : "");

/** What the index cannot look for is not asked; nothing leaves it to the server. */
export const effectivePurpose = (state, purposes) => (purposes.includes(state.purpose) ? state.purpose : "");
