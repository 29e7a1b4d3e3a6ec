// What the theme leaves out for people who use a keyboard or a screen reader.
function mend() {
  document.querySelectorAll(".caption[role=heading]").forEach((each) => each.setAttribute("aria-level", "2"));
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  if (!document.querySelector("h1")) {
    document.querySelector("#search-results")?.before(Object.assign(document.createElement("h1"), { textContent: "Search" }));
  }
  for (const each of document.querySelectorAll("pre, .table-wrapper")) {
    each.toggleAttribute("tabindex", each.scrollWidth > each.clientWidth);
    if (each.hasAttribute("tabindex")) each.tabIndex = 0;
  }
}

addEventListener("load", mend);
addEventListener("resize", mend);
