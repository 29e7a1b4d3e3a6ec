// Rank what the search finds. Sphinx wants every word on a page, so one word that no page has finds nothing; and a page that
// lists everything, such as CHANGELOG, comes before the page that answers. Here rare words weigh more, and lists and pages
// about the inside of the app (LISTS, which docs/conf.py writes) less.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const ofWord = Search.performTermsSearch;
  const stem = (word) => new Stemmer().stemWord(word);
  const isTheirWord = (page, word) => (WORDS_OF_READERS[page] ?? "").split(" ").map(stem).includes(word);
  const weighed = (result) => (LISTS.includes(result[0]) ? result[4] * 0.4 : result[4]);

  Search.performTermsSearch = (words, excluded) => {
    const pages = new Map(); // name: the result, and how many of the words it has
    for (const word of words) {
      const found = ofWord(new Set([word]), excluded);
      const rarity = Math.log(1 + Search._index.docnames.length / found.length);
      for (const result of found) {
        const known = pages.get(result[0]) ?? { result: result.with(4, 0), matched: 0 };
        known.result[4] += (isTheirWord(result[0], word) ? Scorer.title : result[4]) * rarity;
        known.matched += 1;
        pages.set(result[0], known);
      }
    }
    const results = [...pages.values()].map(({ result, matched }) => result.with(4, (result[4] * matched) / words.size));
    const best = Math.max(...results.map(weighed));
    return results.filter((result) => weighed(result) > best / 4);
  };
  Scorer.score = weighed;
});
