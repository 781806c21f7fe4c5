// Ask the server; when it asks for a key, ask the person.

const STORED = "diptych-key";

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Api {
  /** `askKey(wasWrong)` promises a key. */
  constructor(askKey) {
    this.askKey = askKey;
    this.key = sessionStorage.getItem(STORED);
    this.asking = null;
  }

  async json(address, options = {}) {
    return (await this.fetch(address, options)).json();
  }

  async fetch(address, options = {}) {
    for (;;) {
      const sent = this.key;
      const headers = { ...options.headers, ...(sent ? { Authorization: `Bearer ${encodeKey(sent)}` } : {}) };
      let response;
      try {
        response = await fetch(address, { ...options, headers });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError(0, "unreachable", "The server cannot be reached. Is it still running?");
      }
      if (response.ok) return response;
      const body = await response.json().catch(() => null);
      const told = body?.error ?? { code: "unknown", message: `The server answered ${response.status}.` };
      if (response.status !== 401) throw new ApiError(response.status, told.code, told.message);
      if (sent === this.key) await this.newKey(told.code === "key_wrong");
    }
  }

  /** Many requests may fail at once; the person is asked once. */
  newKey(wasWrong) {
    this.asking ??= this.askKey(wasWrong).then((key) => {
      this.key = key;
      sessionStorage.setItem(STORED, key);
      this.asking = null;
    });
    return this.asking;
  }

  search(parts, options, image, signal) {
    if (!image) {
      const headers = { "Content-Type": "application/json" };
      const body = JSON.stringify({ parts, ...options });
      return this.json("/v1/search", { method: "POST", headers, body, signal });
    }
    const form = new FormData();
    form.append("image", image, "image");
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
