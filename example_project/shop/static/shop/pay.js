// Messages of the form move this page: the frame's height, a word when the form is done. What is paid, the ledger alone says.
// In the page's head and not deferred: a form that loads quickly sends its height before a deferred script listens.
function hear(frame, {name, data}) {
  if (name === "formResize" && Number.isFinite(data?.height)) frame.style.height = `${Math.min(Math.max(data.height, 300), 3000)}px`;
  if (name === "paymentCompleted") {
    document.getElementById("completed").textContent = "The form is done. Your purchase says whether the payment has arrived.";
    document.getElementById("purchase").classList.remove("quiet");
  }
}

addEventListener("message", ({origin, source, data}) => {
  const frame = [...document.querySelectorAll("#pay iframe")].find((each) => each.contentWindow === source);
  if (!frame || typeof data?.name !== "string") return;
  if (origin === new URL(frame.src).origin) hear(frame, data);
  // The form has sent its frame to the page of the purchase (return.js), which belongs in the whole window.
  if (origin === location.origin && data.name === "returned") location.assign(document.getElementById("purchase").href);
});
