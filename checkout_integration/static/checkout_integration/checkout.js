// @ts-check
/*
 * The payment form on a shop's page, and the state of a purchase. No dependencies; a shop imports what it needs.
 * Messages of the form drive the page, never the state: only the shop's server knows what is paid. See docs/shop-pages.md.
 */

/**
 * What the page does when the form says something. None of it proves a payment.
 * @typedef {object} FormHandlers
 * @property {() => void} [onReady] The form is shown.
 * @property {() => void} [onCompleted] The customer has paid, as the form says: lead them to the page of the purchase.
 * @property {() => void} [onDeclined] The payment was declined; the form offers another try.
 * @property {() => void} [onReturned] The form has led its frame to the shop's return page: show that in the whole window.
 */

/**
 * Where and how the form is opened.
 * @typedef {object} FormOptions
 * @property {"frame" | "window" | "redirect"} way
 * @property {Element} [into] For a frame: the element whose content gives way to it.
 * @property {string} [title] For a frame: its name for a screen reader.
 * @property {string} [sandbox] For a frame: what it may do.
 * @property {number} [height] For a frame: pixels until the form has said its height.
 * @property {string} [cssClass] For a frame: its classes.
 * @property {() => void} [onClosed] For a window: the customer has closed it.
 */

/**
 * The state of a purchase, as the status address says it.
 * @typedef {object} PurchaseState
 * @property {string} status Of the checkout: open, processing, paid, review, reversed, cancelled, failed, …
 * @property {string} order_status Of its latest order, in the service's word.
 * @property {string} goods "granting", "delayed" or "granted" once it is paid; "" before.
 */

/**
 * How a purchase is watched.
 * @typedef {object} WatchOptions
 * @property {PurchaseState} shown What the page shows now.
 * @property {(state: PurchaseState) => void} onChange The state is another one. Called once; then the watch ends.
 * @property {() => void} [onSlow] Nothing has changed for `patience`: say so. Called once; the watch goes on.
 * @property {number} [pause] Milliseconds before the first question; each further one takes half as long again.
 * @property {number} [patience] Milliseconds until `onSlow`.
 */

export const SANDBOX =
  "allow-forms allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation";
const LEAST_HEIGHT = 300;
const MOST_HEIGHT = 3000;
const LONGEST_PAUSE = 15_000;

/**
 * Open the form. Call it in the customer's click where the way is a window: browsers block others.
 * @param {string} address Of the form: `payment_form_url`.
 * @param {FormOptions & FormHandlers} options
 * @returns {() => void} Call it when the form is no longer of interest; nothing is heard of it then.
 */
export function openForm(address, options) {
  if (options.way === "frame") return openFrame(address, options);
  if (options.way === "window") return openWindow(address, options);
  location.assign(address);
  return () => {};
}

/**
 * @param {string} address
 * @param {FormOptions & FormHandlers} options
 */
function openFrame(address, options) {
  const area = options.into;
  if (!area) throw new TypeError("openForm in a frame needs `into`, an element of the page");
  const stop = listen(area, options); // before the frame loads: the form says its height once
  const frame = document.createElement("iframe");
  frame.title = options.title || "Payment form";
  frame.setAttribute("sandbox", options.sandbox ?? SANDBOX);
  frame.allow = "payment";
  frame.width = "100%";
  frame.height = String(options.height ?? 700);
  frame.className = options.cssClass ?? "";
  frame.src = address;
  area.replaceChildren(frame);
  return stop;
}

/**
 * @param {string} address
 * @param {FormOptions & FormHandlers} options
 */
function openWindow(address, options) {
  const opened = open("about:blank", "_blank");
  if (!opened) {
    location.assign(address); // it was blocked
    return () => {};
  }
  opened.opener = null; // the form must not lead this page elsewhere
  opened.location.replace(address);
  const timer = setInterval(() => {
    if (!opened.closed) return;
    clearInterval(timer);
    options.onClosed?.();
  }, 500);
  return () => clearInterval(timer);
}

/**
 * Show a form in each place that `{% checkout_frame … by_script=True %}` has left for one.
 * @param {FormHandlers} handlers
 * @param {ParentNode} root
 */
export function mountForms(handlers, root = document) {
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-checkout-form]"))) {
    const { checkoutForm = "", title, sandbox, cssClass, height } = place.dataset;
    const options = { title, sandbox, cssClass, height: Number(height) || undefined };
    openForm(checkoutForm, { way: "frame", into: place, ...options, ...handlers });
  }
}

/**
 * Listen to the forms in a part of the page: those of `openForm`, and those of the service's client-side object.
 *
 * A message counts if it comes from the window of a frame in `area`, and from the origin that this frame was opened with.
 * The frame gets the height that its form has; everything else is for the handlers.
 * @param {Element} area
 * @param {FormHandlers} handlers
 * @returns {() => void} Call it to stop.
 */
export function listen(area, handlers) {
  /** @param {MessageEvent<unknown>} event */
  const hear = (event) => {
    const frame = [...area.querySelectorAll("iframe")].find((each) => each.contentWindow === event.source);
    const name = frame && nameOf(event.data);
    if (!frame || !name) return;
    // The shop's own return page, to which the form has led its frame.
    if (event.origin === location.origin && name === "returned") handlers.onReturned?.();
    if (event.origin === originOf(frame)) act(frame, name, event.data, handlers);
  };
  addEventListener("message", hear);
  return () => removeEventListener("message", hear);
}

/**
 * @param {HTMLIFrameElement} frame
 * @param {string} name
 * @param {unknown} message
 * @param {FormHandlers} handlers
 */
function act(frame, name, message, handlers) {
  if (name === "formResize") resize(frame, heightOf(message));
  if (name === "formRendered") handlers.onReady?.();
  if (name === "paymentCompleted") handlers.onCompleted?.();
  if (name === "paymentDeclined") handlers.onDeclined?.();
}

/**
 * @param {HTMLIFrameElement} frame
 * @param {number | undefined} height
 */
function resize(frame, height) {
  if (height !== undefined) frame.style.height = `${Math.min(Math.max(height, LEAST_HEIGHT), MOST_HEIGHT)}px`;
}

/** @param {HTMLIFrameElement} frame */
function originOf(frame) {
  return URL.canParse(frame.src) ? new URL(frame.src).origin : "";
}

/**
 * @param {unknown} message
 * @returns {string} "" for a message of another shape.
 */
function nameOf(message) {
  const name = field(message, "name");
  return typeof name === "string" ? name : "";
}

/**
 * @param {unknown} message
 * @returns {number | undefined}
 */
function heightOf(message) {
  const height = field(field(message, "data"), "height");
  return typeof height === "number" && Number.isFinite(height) ? height : undefined;
}

/**
 * @param {unknown} value
 * @param {string} name
 * @returns {unknown}
 */
function field(value, name) {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * Ask the shop's server for the state of a purchase until it is another one: at growing intervals, and not while nobody looks.
 * @param {string} address The status address of the checkout: `status_url` on the return page.
 * @param {WatchOptions} options
 * @returns {() => void} Call it to stop.
 */
export function watchPurchase(address, options) {
  const { shown, onChange, onSlow, pause = 1000, patience = 60_000 } = options;
  const begun = Date.now();
  let isSlow = false;
  let isOver = false;
  let timer = setTimeout(ask, pause, pause);

  /** @param {number} waited */
  async function ask(waited) {
    const state = document.hidden ? null : await stateAt(address);
    if (isOver) return;
    if (state && isAnother(state, shown)) return onChange(state);
    if (!isSlow && Date.now() - begun >= patience) {
      isSlow = true;
      onSlow?.();
    }
    const longer = Math.min(waited * 1.5, LONGEST_PAUSE);
    timer = setTimeout(ask, longer, longer);
  }

  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/**
 * @param {string} address
 * @returns {Promise<PurchaseState | null>} null where the server does not say.
 */
async function stateAt(address) {
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    return response.ok ? stateOf(await response.json()) : null;
  } catch {
    return null; // offline, or no JSON: asked again
  }
}

/**
 * @param {unknown} body
 * @returns {PurchaseState | null}
 */
function stateOf(body) {
  const [status, order_status, goods] = ["status", "order_status", "goods"].map((name) => field(body, name));
  if (typeof status !== "string" || typeof order_status !== "string" || typeof goods !== "string") return null;
  return { status, order_status, goods };
}

/**
 * @param {PurchaseState} state
 * @param {PurchaseState} shown
 */
function isAnother(state, shown) {
  return state.status !== shown.status || state.order_status !== shown.order_status || state.goods !== shown.goods;
}

/** Tell the page around this one that the form has led back here: on the return page, inside the form's frame. */
export function leaveFrame() {
  if (window.top && window.top !== window) window.top.postMessage({ name: "returned" }, location.origin);
}
