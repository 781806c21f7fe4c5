// The dialog that asks for a key.

import { find } from "/page/dom.js";

/** Promise a key, or null where the person may do without; `wasWrong` says that the one before was not accepted. */
export function askKey(wasWrong, optional = false) {
  const dialog = find("#ask-key");
  find("#key-wrong").hidden = !wasWrong;
  find("#key-cancel").hidden = !optional;
  find("#key").value = "";
  if (!dialog.open) dialog.showModal();
  find("#key").focus();
  return new Promise((given) => {
    const listening = new AbortController();
    const end = (key) => {
      listening.abort();
      dialog.close();
      given(key);
    };
    const on = (element, event, act) => element.addEventListener(event, act, { signal: listening.signal });
    on(find("#key-form"), "submit", (event) => {
      event.preventDefault();
      end(find("#key").value);
    });
    on(find("#key-cancel"), "click", () => end(null));
    on(dialog, "cancel", (event) => {
      event.preventDefault();
      if (optional) end(null); // else there is nothing behind the dialog
    });
  });
}
