// The dialog that asks for a key.

import { find } from "/page/dom.js";

/** Promise a key; `wasWrong` says that the one before was not accepted. */
export function askKey(wasWrong) {
  const dialog = find("#ask-key");
  find("#key-wrong").hidden = !wasWrong;
  find("#key").value = "";
  if (!dialog.open) dialog.showModal();
  find("#key").focus();
  return new Promise((given) => {
    const submit = (event) => {
      event.preventDefault();
      find("#key-form").removeEventListener("submit", submit);
      dialog.removeEventListener("cancel", stay);
      dialog.close();
      given(find("#key").value);
    };
    const stay = (event) => event.preventDefault(); // without a key there is nothing behind the dialog
    find("#key-form").addEventListener("submit", submit);
    dialog.addEventListener("cancel", stay);
  });
}
