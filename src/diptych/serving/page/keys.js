// The dialog that asks for a key.

import { find } from "/page/dom.js";

/** Promise a key, or null where the person may do without; `wasWrong` says that the one before was not accepted. */
export function askKey(wasWrong, optional = false) {
  const [dialog, input, cancel] = ["#ask-key", "#key", "#key-cancel"].map((id) => find(id));
  find("#key-wrong").hidden = !wasWrong;
  cancel.hidden = !optional;
  input.value = "";
  if (!dialog.open) dialog.showModal();
  input.focus();
  return new Promise((given) => {
    const end = (key) => {
      dialog.close();
      given(key);
    };
    find("form", dialog).onsubmit = (event) => {
      event.preventDefault();
      end(input.value);
    };
    cancel.onclick = () => end(null);
    dialog.oncancel = (event) => {
      event.preventDefault();
      if (optional) end(null); // else there is nothing behind the dialog
    };
  });
}
