// What is being asked, and the address that says it.

export const EMPTY = Object.freeze({
  q: "", like: [], unlike: [], into: "", purpose: "", mode: "", exact: false, classes: [], splits: [], strictness: 0,
  sort: "", group: true, view: "search", item: "", image: null,
});
export const MOST_EXAMPLES = 14; // items that lead a query to them or away from them

/** What the parts are called in the address; an image of one's own is none of them: it stays with the person. */
const NAMES = {
  q: "q", like: "like", unlike: "unlike", into: "in", purpose: "for", mode: "mode", exact: "exact", classes: "class",
  splits: "split", strictness: "p", sort: "sort", group: "group", view: "view", item: "item",
};

export function fromAddress(address = location) {
  const given = new URLSearchParams(address.search);
  const state = { ...EMPTY };
  for (const [part, name] of Object.entries(NAMES)) {
    const said = given.getAll(name).filter(Boolean);
    if (!said.length) continue;
    if (Array.isArray(EMPTY[part])) state[part] = said;
    else if (typeof EMPTY[part] === "boolean") state[part] = said[0] === "1";
    else state[part] = said[0];
  }
  const oneOf = (value, ...known) => (known.includes(value) ? value : known[0]);
  return {
    ...state,
    q: state.q.slice(0, 2000),
    like: state.like.slice(0, MOST_EXAMPLES),
    unlike: state.unlike.slice(0, MOST_EXAMPLES),
    strictness: Math.min(95, Math.max(0, Number(state.strictness) || 0)),
    sort: oneOf(state.sort, "", "name", "date"),
    view: oneOf(state.view, "search", "explore", "teach"),
  };
}

export function toAddress(state) {
  const said = new URLSearchParams();
  for (const [part, name] of Object.entries(NAMES)) {
    if (String(state[part]) === String(EMPTY[part])) continue;
    for (const value of [state[part]].flat()) said.append(name, typeof value === "boolean" ? Number(value) : value);
  }
  return said.size ? `/?${said}` : "/";
}

export const asksNothing = (state) => !state.q && !state.like.length && !state.unlike.length && !state.image;

/** Whether two states have the same results. */
export function sameResults(one, other) {
  const asked = (state) => JSON.stringify({ ...state, view: "", item: "", image: null });
  return Boolean(one && other) && one.image === other.image && asked(one) === asked(other);
}

export function conditionOf({ classes, splits }) {
  const oneOf = (key, names) => (names.length ? [`${key} in (${names.map((name) => `'${name.replaceAll("'", "''")}'`).join(", ")})`] : []);
  return [...oneOf("label", classes), ...oneOf("split", splits)].join(" and ");
}

/** What the index does not know is not asked: nothing means whole items, words with meaning, and what suits. */
export const effective = (state, { modalities, purposes, modes }) => ({
  into: modalities.includes(state.into) && !asksNothing(state) ? state.into : "",
  mode: modes.includes(state.mode) && state.mode !== "hybrid" ? state.mode : "",
  purpose: purposes.includes(state.purpose) ? state.purpose : "",
});

/** The query as the server takes it; `known` has the modalities, purposes and modes of the index. */
export function toQuery(state, known) {
  const share = (ids, weight) => ids.map((id) => ({ kind: "item", id, weight: weight / Math.sqrt(ids.length) }));
  const query = {
    ...effective(state, known),
    min_probability: state.strictness / 100,
    where: conditionOf(state),
    sort: state.sort,
    parts: [...(state.q ? [{ kind: "text", text: state.q }] : []), ...share(state.like, 1), ...share(state.unlike, -0.6)],
  };
  const said = Object.fromEntries(Object.entries(query).filter(([, value]) => value));
  return state.exact ? { ...said, correct: false } : said;
}
