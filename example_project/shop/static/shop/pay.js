// Messages of the form move this page: the frame's height, a word when the form is done. What is paid, the ledger alone says.
const completed = document.getElementById("completed");
const purchase = document.getElementById("purchase");

function hear(frame, {name, data}) {
  if (name === "formResize" && Number.isFinite(data?.height)) frame.style.height = `${Math.min(Math.max(data.height, 300), 3000)}px`;
  if (name === "paymentCompleted") {
    completed.textContent = "The form is done. Your purchase says whether the payment has arrived.";
    purchase.classList.remove("quiet");
  }
}

addEventListener("message", ({origin, source, data}) => {
  const frame = [...document.querySelectorAll("#pay iframe")].find((each) => each.contentWindow === source);
  if (!frame || typeof data?.name !== "string") return;
  if (origin === new URL(frame.src).origin) hear(frame, data);
  // The form has sent its frame to the page of the purchase (return.js), which belongs in the whole window.
  if (origin === location.origin && data.name === "returned") location.assign(purchase.href);
});
