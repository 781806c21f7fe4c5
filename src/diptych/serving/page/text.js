// The kind text: the text itself, as text, whatever markup it holds.

import { make } from "/page/dom.js";
import { marked } from "/page/words.js";

export const text = {
  card: (hit, { name, words }) => make("span.words", marked(name, words, { short: true })),
  view: (hit, { full, words }) => make("div.read", { tabIndex: 0 }, make("p", marked(full, words))),
};
