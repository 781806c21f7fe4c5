// Ask the server; when it asks for a key, ask the person.

import { fieldOf } from "/page/audio.js";
import { t } from "/page/i18n.js";

const STORED = "diptych-key";

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Api {
  /** `askKey(wasWrong)` promises a key; `reached(yes)` is told whether the server can be reached. */
  constructor(askKey, reached = () => {}) {
    this.askKey = askKey;
    this.reached = reached;
    this.key = sessionStorage.getItem(STORED);
    this.asking = null;
  }

  async json(address, options = {}) {
    return (await this.fetch(address, options)).json();
  }

  send(method, address, body, options = {}) {
    const headers = { "Content-Type": "application/json" };
    return this.json(address, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), ...options });
  }

  headers() {
    return this.key ? { Authorization: `Bearer ${encodeKey(this.key)}` } : {};
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
        throw new ApiError(0, "unreachable", t("offline"));
      }
      this.reached(true);
      if (response.ok) return response;
      const body = await response.json().catch(() => null);
      const told = body?.error ?? { code: "unknown", message: t("error.status", { status: String(response.status) }) };
      if (response.status !== 401) throw new ApiError(response.status, told.code, told.message);
      if (sent === this.key) await this.newKey(told.code === "key_wrong");
    }
  }

  /** Many requests may fail at once; the person is asked once. */
  newKey(wasWrong) {
    this.asking ??= this.askKey(wasWrong).then((key) => {
      this.asking = null;
      if (key === null) throw new ApiError(401, "key_needed", t("key.title"));
      this.setKey(key);
    });
    return this.asking;
  }

  setKey(key) {
    this.key = key || null;
    if (key) sessionStorage.setItem(STORED, key);
    else sessionStorage.removeItem(STORED);
  }

  search(parts, options, image, signal) {
    if (!image) return this.send("POST", "/v1/search", { parts, ...options }, { signal });
    const form = new FormData();
    form.append(fieldOf(image), image, image.name || "image");
    form.append("query", JSON.stringify({ parts, ...options }));
    return this.json("/v1/search", { method: "POST", body: form, signal });
  }

  item(id) {
    return this.json(`/v1/items/${encodeURIComponent(id)}`);
  }

  /** Show an image of the index: straight from its address, or fetched with the key. */
  async show(image, address) {
    if (!this.key) {
      image.src = address;
      return;
    }
    try {
      const url = URL.createObjectURL(await (await this.fetch(address)).blob());
      image.addEventListener("load", () => URL.revokeObjectURL(url), { once: true });
      image.src = url;
    } catch {
      image.dispatchEvent(new Event("error")); // as if the browser had not found it
    }
  }
}

/** Headers carry bytes: a key is sent as UTF-8. */
function encodeKey(key) {
  return String.fromCharCode(...new TextEncoder().encode(key));
}
