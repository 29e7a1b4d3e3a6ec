// Rank what the search finds. Sphinx wants every word on a page, so one word that no page has finds nothing; and a page that
// lists everything, such as CHANGELOG, comes before the page that answers. Here rare words weigh more, and lists and pages
// about the inside of the app (LISTS, which docs/conf.py writes) less.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const ofWord = Search.performTermsSearch;
  const weighed = (result) => (LISTS.includes(result[0]) ? result[4] * 0.4 : result[4]);

  Search.performTermsSearch = (words, excluded) => {
    const pages = new Map();
    for (const word of words) {
      const found = ofWord(new Set([word]), excluded);
      const rarity = Math.log(1 + Search._index.docnames.length / found.length);
      for (const result of found) {
        const known = pages.get(result[0]) ?? [...result.slice(0, 4), 0, ...result.slice(5)];
        known[4] += result[4] * rarity;
        pages.set(result[0], known);
      }
    }
    const best = Math.max(...[...pages.values()].map(weighed));
    return [...pages.values()].filter((result) => weighed(result) > best / 3);
  };
  Scorer.score = weighed;
});
