// The kind audio: a small spectrogram in cards and in the viewer, a player, and sounds as queries.
//
// An item that is shown by its image or its text may have a sound besides: `player(hit, context)` gives the player to
// put beside it, or null. `isSound(file)` and `fieldOf(file)` are for uploads: the field of the form that /v1/search and
// /v1/items take the file in.

import { mediaAddress } from "/page/api.js";
import { findAll, iconButton, make } from "/page/dom.js";
import { t } from "/page/i18n.js";
import { image } from "/page/image.js";

const ENDING = /\.(wav|wave|flac|ogg|oga|opus|mp3)$/i;

/** Some systems do not tell what a FLAC or OGG file is, so its name counts too. */
export const isSound = (file) => file.type.startsWith("audio/") || (!file.type && ENDING.test(file.name));
export const fieldOf = (file) => (isSound(file) ? "audio" : "image");

/** The id of the entry that holds an item's sound, null if it has none. */
export const soundOf = (hit) => (hit.modality === "audio" && hit.media ? hit.id : (hit.entries?.audio ?? null));

/** Nothing is fetched before the person plays it, and one sound plays at a time; `controls` come with the sound. */
export function player(hit, { api, name }, controls = false) {
  const id = soundOf(hit);
  if (id === null) return null;
  let fetched = null;
  const told = () => (press.ariaPressed = !sound.paused);
  const sound = make("audio", {
    controls, hidden: true, preload: "none", "data-id": id, ariaLabel: name, onpause: told, onerror: () => (fetched = null),
    onplay() {
      told();
      for (const other of findAll("audio")) if (other !== sound) other.pause();
    },
  });
  const press = iconButton("play", t("play", { name: name.slice(0, 80) }), async () => {
    await (fetched ??= api.show(sound, mediaAddress(id, "original")));
    if (controls) {
      sound.hidden = false;
      if (press === document.activeElement) sound.focus();
      press.hidden = true;
    }
    if (!sound.paused) sound.pause();
    else await sound.play().catch(() => {}); // after a long wait the browser wants a second press
  }, { className: "play icon", ariaPressed: false });
  return make("div.player", press, sound);
}

function spectrogram(hit, context) {
  const frame = image.card({ media: mediaAddress(soundOf(hit)) }, context);
  frame.classList.add("spectrogram");
  return frame;
}

export const audio = { card: spectrogram, view: spectrogram };
