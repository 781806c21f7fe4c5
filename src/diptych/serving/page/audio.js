// The kind audio: a small spectrogram in cards, a player with it in the viewer, and sounds as queries.
//
// `audio.card(hit, context)` and `audio.view(hit, context)` show an item whose own entry is a sound; `context` has the
// api and the item's name. An item that is shown by its image may have a sound besides: `player(hit, context)` gives
// the player to put beneath it, or null. `isSound(file)` and `fieldOf(file)` are for uploads: the field of the form
// that /v1/search and /v1/items take the file in.

import { make } from "/page/dom.js";

const ENDING = /\.(wav|wave|flac|ogg|oga|opus|mp3)$/i;

/** Some systems do not tell what a FLAC or OGG file is, so its name counts too. */
export const isSound = (file) => file.type.startsWith("audio/") || (!file.type && ENDING.test(file.name));
export const fieldOf = (file) => (isSound(file) ? "audio" : "image");

/** The id of the entry that holds an item's sound, null if it has none. */
export const soundOf = (hit) => (hit.modality === "audio" && hit.media ? hit.id : (hit.entries?.audio ?? null));

const address = (id, size) => `/v1/media/${encodeURIComponent(id)}?size=${size}`;

function spectrogram(id, { api, alt = "" }) {
  const shown = make("img", { alt, loading: "lazy", decoding: "async", draggable: false });
  const frame = make("span", { class: "image spectrogram" }, shown);
  shown.addEventListener("error", () => frame.classList.add("gone"), { once: true });
  api.show(shown, address(id, "thumbnail"));
  return frame;
}

/** Nothing is fetched before the person plays it, and one sound plays at a time. */
export function player(hit, { api, name }) {
  const id = soundOf(hit);
  if (id === null) return null;
  const sound = make("audio", { controls: true, preload: "none", class: "player", "aria-label": name });
  sound.dataset.id = id;
  sound.addEventListener("play", () => {
    for (const other of document.querySelectorAll("audio.player")) if (other !== sound) other.pause();
  });
  if (api.key) fetchAtPlay(sound, api, address(id, "original"));
  else sound.src = address(id, "original");
  return sound;
}

/** With a key the browser cannot fetch the sound by itself: it is fetched when it is first played. */
function fetchAtPlay(sound, api, from) {
  const start = make("button", { type: "button", class: "play", "aria-label": sound.getAttribute("aria-label") }, "▶");
  sound.hidden = true;
  start.addEventListener("click", async () => {
    await api.show(sound, from);
    sound.hidden = false;
    start.remove();
    sound.play().catch(() => {}); // after a long wait the browser wants a second press, on its own button
  });
  queueMicrotask(() => sound.before(start)); // once the caller has put the player into the page
}

export const audio = {
  card(hit, context) {
    return spectrogram(soundOf(hit), context);
  },

  view(hit, context) {
    return make("div", { class: "read" }, spectrogram(soundOf(hit), context), player(hit, context));
  },
};
