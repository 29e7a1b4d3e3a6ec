// @ts-check
// The page of a purchase looks again until something has changed. It marks nothing as paid itself.
import { leaveFrame, watchPurchase } from "../checkout_integration/checkout.js";

const page = /** @type {HTMLElement} */ (document.getElementById("purchase"));
const slow = /** @type {HTMLElement} */ (document.getElementById("slow"));
const { status = "", orderStatus = "", goods = "", statusUrl = "", isChanging } = page.dataset;

if (isChanging) {
  watchPurchase(statusUrl, {
    shown: { status, order_status: orderStatus, goods },
    onChange: () => location.reload(),
    onSlow: () => slow.removeAttribute("hidden"),
    pause: 500,
  });
}

// In the form's frame: the page around it goes on here (pay.js). Without script the links of this page leave the frame.
leaveFrame();
