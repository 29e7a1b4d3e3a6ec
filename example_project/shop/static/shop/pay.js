// @ts-check
// What the form says moves this page: a word when it is done, and on to the purchase. What is paid, the server alone knows.
import { listen, mountForms } from "../checkout_integration/checkout.js";

const area = /** @type {HTMLElement} */ (document.getElementById("pay"));
const completed = /** @type {HTMLElement} */ (document.getElementById("completed"));
const purchase = /** @type {HTMLAnchorElement} */ (document.getElementById("purchase"));

/** @type {import("../checkout_integration/checkout.js").FormHandlers} */
const handlers = {
  onCompleted() {
    completed.textContent = completed.dataset.text ?? "";
    purchase.classList.remove("quiet");
  },
  onReturned() {
    location.assign(purchase.href);
  },
};

// Either this page makes the frame, or the service's own script puts it in place of #form.
if (area.querySelector("#form")) listen(area, handlers);
else mountForms(handlers, area);
