// The figures: totals, hosts, causes and charts, all of the same view.

/** From so many pages on clusters are counted together; the same in totals.py. */
const SIZES = [2, 3, 4, 6, 11, 21, 51, 101, 1001];

const shareText = (row) => percent(row.repeats, row.pages);

function examplePair(...pages) {
  return element("div", { class: "example" }, ...pages.map((page) => (page < 0 ? null : pageLink(report.urls[page]))));
}

const exampleText = (pages) => pages.filter((page) => page >= 0).map((page) => report.urls[page]).join(" ");

/** The name of a pattern, broken after slashes rather than anywhere. */
function patternName(name) {
  const pieces = cut(visible(name), 120).split(/(?<=\/)/).flatMap((piece) => [piece, element("wbr")]);
  return element("bdi", { class: "pattern", dir: "ltr" }, ...pieces);
}

function makeOverview() {
  const showHosts = makeTable(byId("hosts"), {
    caption: "Hosts",
    order: [3, true],
    columns: [
      { label: "Host", name: true, value: (row) => report.hosts[row.host], cell: (row) => hostName(row.host) },
      { label: "Unique, near and exact", wide: true, cell: (row) => stackedLine(barParts(row.totals)) },
      { label: "Pages", number: true, value: (row) => row.pages, cell: (row) => count(row.pages) },
      { label: "Repeats", number: true, value: (row) => row.repeats, cell: (row) => count(row.repeats) },
      { label: "Share", number: true, value: (row) => row.repeats / row.pages, cell: shareText },
    ],
  });
  const showHostPairs = makeTable(byId("host-pairs"), {
    caption: "Hosts that repeat each other",
    order: [2, true],
    each: 10,
    empty: "No page repeats one of another host.",
    columns: [
      { label: "Host", name: true, value: (row) => report.hosts[row.a], cell: (row) => hostName(row.a) },
      { label: "repeats", value: (row) => report.hosts[row.b], cell: (row) => hostName(row.b) },
      { label: "Pages", number: true, value: (row) => row.ab, cell: (row) => count(row.ab) },
      { label: "Other way", number: true, value: (row) => row.ba, cell: (row) => count(row.ba) },
      { label: "Example", wide: true, text: (row) => exampleText(row.example), cell: (row) => examplePair(...row.example) },
    ],
  });
  const showPatterns = makeTable(byId("patterns"), {
    caption: "Patterns of URLs that repeat",
    order: [3, true],
    empty: "No parameter, spelling or path stands out.",
    columns: [
      { label: "Pattern", name: true, value: (row) => row.name, cell: (row) => patternName(row.name) },
      { label: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
      { label: "Pages", number: true, value: (row) => row.pages, cell: (row) => count(row.pages) },
      { label: "Repeats", number: true, value: (row) => row.repeats, cell: (row) => count(row.repeats) },
      { label: "Share", number: true, value: (row) => row.repeats / row.pages, cell: shareText },
      { label: "What to do", wide: true, text: (row) => row.advice, cell: (row) => element("div", {}, visible(row.advice), examplePair(...row.example)) },
    ],
  });
  makeTable(byId("thin"), {
    caption: "Pages with little text, by path",
    order: [2, true],
    empty: "No path stands out.",
    columns: [
      { label: "Path", name: true, value: ([name]) => name, cell: ([name]) => patternName(name) },
      { label: "Pages", number: true, value: (row) => row[3], cell: (row) => count(row[3]) },
      { label: "Too short", number: true, value: (row) => row[4], cell: (row) => count(row[4]) },
      { label: "What they are", wide: true, text: (row) => row[2], cell: (row) => element("div", {}, visible(row[2]), examplePair(row[1], -1)) },
    ],
  })(report.thin);

  return (view) => {
    const totals = countVerdicts(view);
    showTotals(view, totals);
    showHosts(countHosts(view));
    showHostPairs(countHostPairs(view));
    showPatterns(countPatterns(view));
    showCharts(view);
  };
}

function showTotals(view, totals) {
  const [pages, clusters] = [report.totals?.pages ?? report.pages, report.totals?.clusters ?? view.canonical.length];
  const repeats = totals[EXACT] + totals[NEAR];
  const sentence = repeats
    ? `${percent(repeats, pages)} of this crawl repeats itself: ${count(repeats)} of ${plural(pages, "page")}.`
    : pages ? `No page of ${count(pages)} repeats another.` : "There are no pages in this audit.";
  byId("headline").textContent = sentence;
  byId("announcement").textContent = `${sentence} ${plural(clusters, "cluster")}.`;
  byId("whole").replaceChildren(element("div", { class: "whole" }, pages ? stackedLine(barParts(totals)) : null), legend());
  const { largest } = countSizes(view, SIZES);
  const figures = [
    ["Pages", pages], ["Unique", totals[UNIQUE]], ["Near copies", totals[NEAR]], ["Exact copies", totals[EXACT]], ["Parts of others", totals[PART]],
    ["Clusters", clusters], ["Largest cluster", largest], ["Of one template", totals[TEMPLATE]],
    ["Walls", totals[WALL]], ["Too short", totals[TOO_SHORT]], ["Revisits", totals[REVISIT]],
  ];
  byId("totals").replaceChildren(...figures.map(([label, number]) =>
    element("div", { class: number ? null : "none" }, element("dt", {}, label), element("dd", { "data-figure": label }, count(number)))));
}

function showCharts(view) {
  const times = countTimes(view);
  if (times) {
    columnChart(byId("time"), { title: `Pages fetched, by ${times.unit}`, axis: times.unit[0].toUpperCase() + times.unit.slice(1), series: PARTS,
      bars: times.bars.map(([label, totals]) => [label, barParts(totals)]) });
  }
  const { pairs, distances, similarities } = countPairs(view);
  byId("no-pairs").hidden = pairs > 0;
  if (!pairs) return;
  const series = [["near", "pairs"], ["other", "not pairs"]];
  const first = similarities.findIndex(([taken, refused]) => taken + refused);
  const lowest = Math.min(first < 0 ? 19 : first, Math.floor(view.minSimilarity / 5), 14);
  columnChart(byId("similarities"), { title: "Similarity of pairs", axis: "Similarity, from", series,
    bars: similarities.map((counts, i) => [(i / 20).toFixed(2), counts]).slice(lowest),
    mark: { at: view.minSimilarity / 5 - lowest, label: `${view.minSimilarity} %` } });
  columnChart(byId("distances"), { title: "Distance of pairs", axis: "Bits that differ", series,
    bars: distances.map((counts, bits) => [String(bits), counts]),
    mark: { at: view.maxDistance + 1, label: `at most ${view.maxDistance}` } });
  const { counts } = countSizes(view, SIZES);
  const sizes = counts.map((number, i) => {
    const [from, to] = [SIZES[i], SIZES[i + 1] - 1];
    return [i + 1 === SIZES.length ? "> 1000" : from === to ? `${from}` : `${from}–${to}`, [number]];
  });
  columnChart(byId("sizes"), { title: "Size of clusters", axis: "Pages in the cluster", series: [["exact", "clusters"]],
    bars: sizes.slice(0, 1 + Math.max(4, counts.findLastIndex((number) => number))) });
}
