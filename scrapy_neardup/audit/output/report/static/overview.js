// The figures: totals, hosts, causes and charts.

const repeatsOf = (counts) => counts.exact + counts.near;

/** [unique, near, exact, others], as bars show them. */
const barParts = (counts) => [
  counts.unique, counts.near, counts.exact,
  counts.part + counts.template + counts.wall + counts.too_short + counts.revisit,
];

const exampleLinks = (urls) => element("div", { class: "example" }, ...urls.map(pageLink));

/** The name of a cause, broken after slashes rather than anywhere. */
function causeName(name) {
  const pieces = cut(visible(name), 120).split(/(?<=\/)/).flatMap((piece) => [piece, element("wbr")]);
  return element("bdi", { class: "pattern", dir: "ltr" }, ...pieces);
}

function showOverview() {
  makeTable(byId("hosts"), {
    caption: "Hosts",
    order: [3, true],
    columns: [
      { label: "Host", name: true, value: (row) => row.host, cell: (row) => hostName(row.host) },
      { label: "Unique, near and exact", wide: true, cell: (row) => stackedLine(barParts(row)) },
      { label: "Pages", number: true, value: (row) => row.pages, cell: (row) => count(row.pages) },
      { label: "Repeats", number: true, value: repeatsOf, cell: (row) => count(repeatsOf(row)) },
      { label: "Share", number: true, value: (row) => repeatsOf(row) / row.pages, cell: (row) => percent(repeatsOf(row), row.pages) },
    ],
  })(report.hosts);
  makeTable(byId("host-pairs"), {
    caption: "Hosts that repeat each other",
    order: [2, true],
    each: 10,
    empty: "No page repeats one of another host.",
    columns: [
      { label: "Host", name: true, value: (row) => row.a, cell: (row) => hostName(row.a) },
      { label: "repeats", value: (row) => row.b, cell: (row) => hostName(row.b) },
      { label: "Pages", number: true, value: (row) => row.ab, cell: (row) => count(row.ab) },
      { label: "Other way", number: true, value: (row) => row.ba, cell: (row) => count(row.ba) },
      { label: "Example", wide: true, text: (row) => row.example.join(" "), cell: (row) => exampleLinks(row.example) },
    ],
  })(report.hostPairs);
  makeTable(byId("cause-list"), {
    caption: "Parameters and paths that repeat",
    order: [3, true],
    empty: "No parameter or path stands out.",
    columns: [
      { label: "Cause", name: true, value: (row) => row.name, cell: (row) => causeName(row.name) },
      { label: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
      { label: "Pages", number: true, value: (row) => row.pages, cell: (row) => count(row.pages) },
      { label: "Repeats", number: true, value: (row) => row.repeats, cell: (row) => count(row.repeats) },
      { label: "Share", number: true, value: (row) => row.repeats / row.pages, cell: (row) => percent(row.repeats, row.pages) },
      { label: "Measured", wide: true, text: (row) => row.said, cell: (row) => element("div", {}, visible(row.said), exampleLinks(row.example)) },
    ],
  })(report.causes);
  showTotals();
  showCharts();
}

function showTotals() {
  const { pageCount: pages, clusterCount: clusters, verdicts } = report;
  const repeats = repeatsOf(verdicts);
  byId("headline").textContent = repeats
    ? `${percent(repeats, pages)} of this crawl repeats itself: ${count(repeats)} of ${plural(pages, "page")}.`
    : pages ? `No page of ${count(pages)} repeats another.` : "There are no pages in this audit.";
  byId("whole").replaceChildren(element("div", { class: "whole" }, pages ? stackedLine(barParts(verdicts)) : null), legend());
  const figures = [
    ["Pages", pages], ["Unique", verdicts.unique], ["Near copies", verdicts.near], ["Exact copies", verdicts.exact], ["Parts of others", verdicts.part],
    ["Clusters", clusters], ["Largest cluster", report.largest], ["Of one template", verdicts.template],
    ["Walls", verdicts.wall], ["Too short", verdicts.too_short], ["Revisits", verdicts.revisit],
  ];
  byId("totals").replaceChildren(...figures.map(([label, number]) =>
    element("div", { class: number ? null : "none" }, element("dt", {}, label), element("dd", { "data-figure": label }, count(number)))));
}

/** Pages by day, month or year, whichever gives at most 60 bars; null if dates are not known or all one. */
function countTimes() {
  const { days } = report;
  if (days.length < 2) return null;
  const [least, most] = [days[0][0], days.at(-1)[0]];
  const [unit, letters] = most - least < 60 ? ["day", 10] : most - least <= 1800 ? ["month", 7] : ["year", 4];
  const bars = new Map();
  const step = new Date(least * 86_400_000);
  step.setUTCHours(12, 0, 0, 0);
  if (unit !== "day") step.setUTCDate(1);
  const last = day(most * 86_400).slice(0, letters);
  for (let label = ""; label < last; step.setUTCDate(step.getUTCDate() + (unit === "day" ? 1 : 28))) {
    label = step.toISOString().slice(0, letters);
    bars.set(label, [0, 0, 0, 0]);
  }
  for (const [number, counts] of days) {
    const bar = bars.get(day(number * 86_400).slice(0, letters));
    barParts(counts).forEach((pages, part) => (bar[part] += pages));
  }
  return { unit, bars: [...bars] };
}

function showCharts() {
  const times = countTimes();
  if (times) {
    columnChart(byId("time"), { title: `Pages fetched, by ${times.unit}`, axis: times.unit[0].toUpperCase() + times.unit.slice(1), series: PARTS, bars: times.bars });
  }
  const { similarities, sizes, minSimilarity } = report;
  const first = similarities.findIndex(([taken, refused]) => taken + refused);
  byId("no-pairs").hidden = first >= 0;
  if (first >= 0) {
    const lowest = Math.min(first, Math.floor(minSimilarity / 5), 14);
    columnChart(byId("similarities"), { title: "Similarity of pairs", axis: "Similarity, from", series: [["near", "pairs"], ["other", "not pairs"]],
      bars: similarities.map((counts, i) => [(i / 20).toFixed(2), counts]).slice(lowest),
      mark: { at: minSimilarity / 5 - lowest, label: `${minSimilarity} %` } });
  }
  if (report.clusterCount) {
    columnChart(byId("sizes"), { title: "Size of clusters", axis: "Pages in the cluster", series: [["exact", "clusters"]],
      bars: sizes.map(([label, number]) => [label, [number]]).slice(0, 1 + Math.max(4, sizes.findLastIndex(([, number]) => number))) });
  }
}
