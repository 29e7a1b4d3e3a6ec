// Buttons that copy the text of the field before them. Without this script they stay hidden, and staff select the text by hand.
"use strict";

for (const button of document.querySelectorAll("button[data-ci-copy]")) {
  const field = button.parentElement.querySelector("input");
  const status = button.parentElement.querySelector("[role=status]");
  button.hidden = false;
  field.addEventListener("focus", () => field.select());
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // No clipboard without TLS, or not allowed: the text is selected, and the older command may do.
      if (!document.execCommand("copy")) return;
    }
    status.textContent = button.dataset.ciCopy;
  });
}
