// How a side of an item is shown, one file for each kind of modality: a component per kind plugs in here.
//
// A kind is {card(hit, context), view(hit, context)}: each gives the element that shows the side in a card and in the
// viewer. `context` has the api, the name of the item and the words to mark.

import { audio } from "/page/audio.js";
import { image } from "/page/image.js";
import { text } from "/page/text.js";

const KINDS = {
  image,
  audio,
  text,
};

/** The kind by which an item is shown: that of the entry that stands for it, if it can be shown. */
export function kindOf(hit) {
  if (hit.media && hit.modality in KINDS) return KINDS[hit.modality];
  return hit.media ? image : text;
}

export const isMedia = (hit) => kindOf(hit) !== text;
