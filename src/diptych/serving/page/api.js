// Ask the server; when it asks for a key, ask the person.

import { fieldOf } from "/page/audio.js";
import { t } from "/page/i18n.js";
import { askKey } from "/page/keys.js";

const STORED = "diptych-key";
const AT_ONCE = 6;
const MOST_FORGOTTEN = 50; // items in one address

export const itemAddress = (id) => `/v1/items/${encodeURIComponent(id)}`;
export const mediaAddress = (id, size = "thumbnail") => `/v1/media/${encodeURIComponent(id)}?size=${size}`;

/** What the server says went wrong, as an error with its code. */
export const failure = (status, body) =>
  Object.assign(new Error(), { status, message: t("error.status", { status: String(status) }), ...body?.error });

/** Do something with each, a few at a time, and tell the share that is done; promises what came of it, and the errors. */
export async function each(all, act, tell = () => {}) {
  const [found, errors, rest] = [[], [], all.entries()];
  let done = 0;
  const worker = async () => {
    for (const [place, one] of rest) {
      await act(one).then((result) => (found[place] = result), (error) => errors.push(error));
      tell((done += 1) / all.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { found: found.filter((one) => one !== undefined), errors };
}

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

  /** Whether the server knows the key. */
  async isKnown() {
    return (await fetch("/v1/info", { headers: this.headers() }).catch(() => null))?.status !== 401;
  }

  search(query, image, signal) {
    if (!image) return this.send("POST", "/v1/search", query, { signal });
    const body = new FormData();
    body.append(fieldOf(image), image, image.name || "image");
    body.append("query", JSON.stringify(query));
    return this.json("/v1/search", { method: "POST", body, signal });
  }

  /** Counts of values among the results; the image goes along as JSON takes it. */
  async facets(query, image) {
    const part = image && { kind: fieldOf(image), data: btoa(Array.from(new Uint8Array(await image.arrayBuffer()), (byte) => String.fromCharCode(byte)).join("")) };
    return this.send("POST", "/v1/facets", part ? { ...query, parts: [...query.parts, part] } : query);
  }

  item(id) {
    return this.json(itemAddress(id));
  }

  /** Items with what is known of them: the map knows only their ids. */
  known(hits, tell) {
    return each(hits, async (hit) => (hit.metadata ? hit : this.item(hit.id)), tell);
  }

  /** Give items the answers back that they had before; promises where teaching stands then. */
  async restoreAnswers(items, before) {
    let taught = null;
    const gone = items.filter((_, place) => !before[place]);
    for (let from = 0; from < gone.length; from += MOST_FORGOTTEN) {
      const some = gone.slice(from, from + MOST_FORGOTTEN).map((item) => ["item", item]);
      taught = await this.json(`/v1/labels?${new URLSearchParams(some)}`, { method: "DELETE" });
    }
    const told = [...before.keys()].filter((place) => before[place]);
    for (const some of Map.groupBy(told, (place) => `${before[place].answer} ${before[place].label}`).values()) {
      const { answer, label } = before[some[0]];
      taught = await this.send("PUT", "/v1/labels", { items: some.map((place) => items[place]), answer, ...(label && { label }) });
    }
    return taught?.status;
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
