// Tells the page around the hosted form what happened. As in the field: any target, and no order id.
const tell = (name, data) => {
  for (const page of new Set([window.parent, window.opener])) {
    if (page && page !== window) page.postMessage({ name, data: data ?? {} }, "*");
  }
};
const { event } = document.body.dataset;
if (event) tell(event);
new ResizeObserver(() => tell("formResize", { height: document.body.offsetHeight })).observe(document.body);
for (const select of document.querySelectorAll("select[data-submits]")) {
  select.addEventListener("change", () => select.form.submit());
}
for (const button of document.querySelectorAll("[data-tells]")) {
  button.addEventListener("click", () => tell(button.dataset.tells));
}
