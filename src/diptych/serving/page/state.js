// What is being asked, and the address that says it.

export const EMPTY = Object.freeze({
  q: "", like: "", into: "", purpose: "", mode: "", exact: false, classes: [], splits: [], strictness: 0, view: "search", image: null,
});

export function fromAddress(address = location) {
  const given = new URLSearchParams(address.search);
  const strictness = Math.min(95, Math.max(0, Number(given.get("p")) || 0));
  return {
    ...EMPTY,
    q: (given.get("q") ?? "").slice(0, 2000),
    like: given.get("like") ?? "",
    into: given.get("in") === "all" ? "" : given.get("in") ?? "",
    purpose: given.get("for") ?? "",
    mode: given.get("mode") ?? "",
    exact: given.get("exact") === "1",
    classes: given.getAll("class"),
    splits: given.getAll("split"),
    strictness,
    view: given.get("view") === "explore" ? "explore" : "search",
  };
}

/** An image of one's own is not part of the address: it stays with the person. */
export function toAddress(state) {
  const said = new URLSearchParams();
  if (state.q) said.set("q", state.q);
  if (state.like) said.set("like", state.like);
  if (state.into) said.set("in", state.into);
  if (state.purpose) said.set("for", state.purpose);
  if (state.mode) said.set("mode", state.mode);
  if (state.exact) said.set("exact", "1");
  for (const name of state.classes) said.append("class", name);
  for (const name of state.splits) said.append("split", name);
  if (state.strictness) said.set("p", String(state.strictness));
  if (state.view !== "search") said.set("view", state.view);
  const text = said.toString();
  return text ? `/?${text}` : "/";
}

export const isEmpty = (state) => !state.q && !state.like && !state.image;

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const oneOf = (key, names) => (names.length ? [`${key} in (${names.map(quoted).join(", ")})`] : []);

/** The query as the server takes it; `modalities`, `purposes` and `modes` are those the index has. */
export function toQuery(state, { modalities, purposes, modes }) {
  const parts = [];
  if (state.q) parts.push({ kind: "text", text: state.q });
  if (state.like) parts.push({ kind: "item", id: state.like });
  const where = [...oneOf("label", state.classes), ...oneOf("split", state.splits)].join(" and ");
  const into = effectiveInto(state, modalities);
  const options = { min_probability: state.strictness / 100 };
  const purpose = effectivePurpose(state, purposes);
  const mode = effectiveMode(state, modes);
  if (into) options.into = into;
  if (mode) options.mode = mode;
  if (state.exact) options.correct = false;
  if (purpose) options.purpose = purpose;
  if (where) options.where = where;
  return { parts, options };
}

/** Unless told otherwise, whole items are looked for, with all their sides. */
export const effectiveInto = (state, modalities) => (modalities.includes(state.into) ? state.into : "");

/** Nothing means words and meaning together. */
export const effectiveMode = (state, modes) => (modes.includes(state.mode) && state.mode !== "hybrid" ? state.mode : "");

/** What the index cannot look for is not asked; nothing leaves it to the server. */
export const effectivePurpose = (state, purposes) => (purposes.includes(state.purpose) ? state.purpose : "");
