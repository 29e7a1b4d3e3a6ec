// Return what a page shows badly in this window, in words: wider than the window, cut, or broken in the middle of a word.
// `mayScroll` selects the elements that may scroll sideways, `longest` is the length of a word that must stay whole.
([mayScroll, longest]) => {
  const root = document.documentElement;
  const named = (each) =>
    [each.tagName.toLowerCase(), ...(each.id ? [`#${each.id}`] : []), ...[...each.classList].map((name) => `.${name}`)].join("") +
    ` “${each.textContent.trim().replace(/\s+/g, " ").slice(0, 50)}”`;
  const isSeen = (each) => each.checkVisibility({ visibilityProperty: true }) && each.clientWidth > 1 && each.clientHeight > 1;
  const seen = [...document.body.querySelectorAll("*")].filter((each) => !each.closest("svg, iframe") && isSeen(each));
  const scrolls = (each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
  const faults = [];

  if (root.scrollWidth > innerWidth) {
    const beyond = seen.filter((each) => each.getBoundingClientRect().right > innerWidth + 1);
    faults.push(`wider than the window (${root.scrollWidth}): ${beyond.slice(-3).map(named).join(", ")}`);
  }
  for (const each of seen) {
    const { overflowX, overflowY, textOverflow } = getComputedStyle(each);
    const [wide, high] = [each.scrollWidth - each.clientWidth > 1, each.scrollHeight - each.clientHeight > 1];
    const hides = (overflow) => overflow === "hidden" || overflow === "clip";
    if (each.textContent.trim() && ((hides(overflowX) && wide) || (hides(overflowY) && high))) {
      faults.push(`cut${textOverflow === "ellipsis" ? " by an ellipsis" : ""}: ${named(each)}`);
    }
    if (scrolls(each) && wide && !each.matches("textarea, pre") && !(mayScroll && each.matches(mayScroll))) {
      faults.push(`scrolls sideways (${each.scrollWidth} in ${each.clientWidth}): ${named(each)}`);
    }
    if (each.matches("select") && each.scrollWidth - each.clientWidth > 1) faults.push(`cut: ${named(each)}`);
  }
  // In a hand, the admin's tables are stacks of cells, without their headings: each cell has to say what it is.
  const stacked = seen.filter((each) => each.matches("#result_list td, .ci-scroll td") && getComputedStyle(each).display === "block");
  for (const cell of stacked.filter((each) => each.textContent.trim())) {
    const before = getComputedStyle(cell, "::before").content;
    const names = [...cell.querySelectorAll(".ci-name")].filter((each) => each.getClientRects().length);
    if (!names.length && !/[^\s":]/u.test(before.replace(/^(none|normal)$/, ""))) faults.push(`a cell without a name: ${named(cell)}`);
  }
  const range = document.createRange();
  for (const table of seen.filter((each) => each.matches("table"))) {
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (!isSeen(text.parentElement) && !text.parentElement.getClientRects().length) continue;
      if (text.parentElement.closest("pre")) continue;
      for (const word of text.data.matchAll(/[^\s\-–—/.,@?&=…]+/g)) {
        if (word[0].length > longest) continue;
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].filter((each) => each.width > 0).map((each) => Math.round(each.top)));
        if (lines.size > 1) faults.push(`broken in the middle of a word: “${word[0]}” in ${named(text.parentElement)}`);
      }
    }
  }
  return [...new Set(faults)];
}
