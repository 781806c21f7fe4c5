// Ask the server; when it asks for a key, ask the person.

import { fieldOf } from "/page/audio.js";
import { t } from "/page/i18n.js";
import { askKey } from "/page/keys.js";

const STORED = "diptych-key";

export const itemAddress = (id) => `/v1/items/${encodeURIComponent(id)}`;
export const mediaAddress = (id, size = "thumbnail") => `/v1/media/${encodeURIComponent(id)}?size=${size}`;

/** What the server says went wrong, as an error with its code. */
export const failure = (status, body) =>
  Object.assign(new Error(), { status, message: t("error.status", { status: String(status) }), ...body?.error });

export class Api {
  key = sessionStorage.getItem(STORED);

  /** `reached(yes)` is told whether the server can be reached. */
  constructor(reached) {
    this.reached = reached;
  }

  async json(address, options) {
    return (await this.fetch(address, options)).json();
  }

  send(method, address, body, options) {
    return this.json(address, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...options });
  }

  /** Headers carry bytes: a key is sent as UTF-8. */
  headers() {
    return this.key ? { Authorization: `Bearer ${String.fromCharCode(...new TextEncoder().encode(this.key))}` } : {};
  }

  async fetch(address, options = {}) {
    for (;;) {
      const sent = this.key;
      let response;
      try {
        response = await fetch(address, { ...options, headers: { ...options.headers, ...this.headers() } });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        this.reached(false);
        throw failure(0, { error: { code: "unreachable", message: t("offline") } });
      }
      this.reached(true);
      if (response.ok) return response;
      const wrong = failure(response.status, await response.json().catch(() => null));
      if (response.status !== 401) throw wrong;
      if (sent === this.key) await this.newKey(wrong.code === "key_wrong");
    }
  }

  /** Many requests may fail at once; the person is asked once. */
  newKey(wasWrong) {
    this.asking ??= askKey(wasWrong).then((key) => {
      this.asking = null;
      this.setKey(key);
    });
    return this.asking;
  }

  setKey(key) {
    this.key = key || null;
    if (key) sessionStorage.setItem(STORED, key);
    else sessionStorage.removeItem(STORED);
  }

  search(query, image, signal) {
    if (!image) return this.send("POST", "/v1/search", query, { signal });
    const body = new FormData();
    body.append(fieldOf(image), image, image.name || "image");
    body.append("query", JSON.stringify(query));
    return this.json("/v1/search", { method: "POST", body, signal });
  }

  item(id) {
    return this.json(itemAddress(id));
  }

  /** Show an image of the index: straight from its address, or fetched with the key. */
  async show(image, address) {
    if (!this.key) {
      image.src = address;
      return image;
    }
    try {
      const url = URL.createObjectURL(await (await this.fetch(address)).blob());
      image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
      image.src = url;
    } catch {
      image.dispatchEvent(new Event("error")); // as if the browser had not found it
    }
    return image;
  }
}
