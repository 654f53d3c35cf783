// What is counted of a view: by verdict, host, pair of hosts, time and pattern. Of pages that this file does not list
// the audit has counted all that.

const isRepeat = (verdict) => verdict === EXACT || verdict === NEAR;

function countVerdicts(view) {
  if (report.totals) return report.totals.verdicts;
  const totals = new Array(VERDICTS.length).fill(0);
  for (const verdict of view.verdict) totals[verdict]++;
  return totals;
}

/** [unique, near, exact, others], as bars show them. */
const barParts = (totals) => [
  totals[UNIQUE], totals[NEAR], totals[EXACT],
  totals[PART] + totals[TEMPLATE] + totals[WALL] + totals[TOO_SHORT] + totals[REVISIT],
];

/** A row for each host. */
function countHosts(view) {
  const counts = report.totals?.hosts ?? report.hosts.map(() => new Array(VERDICTS.length).fill(0));
  if (!report.totals) report.page.host.forEach((host, page) => counts[host][view.verdict[page]]++);
  return counts.map((totals, host) =>
    ({ host, totals, pages: totals.reduce((sum, number) => sum + number, 0), repeats: totals[EXACT] + totals[NEAR] }));
}

/** A row for each pair of hosts: pages of the one that repeat a canonical page of the other. */
function countHostPairs(view) {
  const { host } = report.page;
  const rows = new Map();
  for (const [a, b, ab, ba, ...example] of report.totals?.hostPairs ?? []) rows.set(rows.size, { a, b, ab, ba, example });
  for (let c = 0; !report.totals && c < view.canonical.length; c++) {
    const original = view.canonical[c];
    for (let m = view.starts[c] + 1; m < view.starts[c + 1]; m++) {
      const page = view.members[m];
      const [a, b] = [host[page], host[original]];
      if (a === b || !isRepeat(view.verdict[page])) continue;
      const [low, high] = a < b ? [a, b] : [b, a];
      const key = low * report.hosts.length + high;
      if (!rows.has(key)) rows.set(key, { a: low, b: high, ab: 0, ba: 0, example: [page, original] });
      rows.get(key)[a === low ? "ab" : "ba"]++;
    }
  }
  // The host that repeats the other more often is named first.
  return [...rows.values()].map((row) =>
    row.ab >= row.ba ? row : { ...row, a: row.b, b: row.a, ab: row.ba, ba: row.ab });
}

/** A row for each pattern. */
function countPatterns(view) {
  let start = 0;
  return report.patterns.map(([kind, name, page, original, advice, length, audited]) => {
    let repeats = report.totals ? audited : 0;
    for (let i = start; !report.totals && i < start + length; i++) if (isRepeat(view.verdict[report.patternPages[i]])) repeats++;
    start += length;
    return { kind, name, example: [page, original], advice, pages: length, repeats };
  });
}

/** How many pages of each verdict were fetched on each day since 1970: a map of day to counts. */
function countDays(view) {
  if (report.totals) return new Map(report.totals.days.map((number, i) => [number, report.totals.byDay[i]]));
  const days = new Map();
  report.page.time.forEach((t, page) => {
    if (t === NO_TIME) return;
    const number = Math.floor(t / 86_400);
    if (!days.has(number)) days.set(number, new Array(VERDICTS.length).fill(0));
    days.get(number)[view.verdict[page]]++;
  });
  return days;
}

/** Pages by day, month or year, whichever gives at most 60 bars; null if dates are not known or all one. */
function countTimes(view) {
  const days = countDays(view);
  if (days.size < 2) return null;
  let [least, most] = [Infinity, -Infinity];
  for (const number of days.keys()) [least, most] = [Math.min(least, number), Math.max(most, number)];
  const [unit, letters] = most - least < 60 ? ["day", 10] : most - least <= 1800 ? ["month", 7] : ["year", 4];
  const bars = new Map();
  const step = new Date(least * 86_400_000);
  step.setUTCHours(12, 0, 0, 0);
  if (unit !== "day") step.setUTCDate(1);
  const last = day(most * 86_400).slice(0, letters);
  for (let label = ""; label < last; step.setUTCDate(step.getUTCDate() + (unit === "day" ? 1 : 28))) {
    label = step.toISOString().slice(0, letters);
    bars.set(label, new Array(VERDICTS.length).fill(0));
  }
  for (const [number, counts] of days) {
    const bar = bars.get(day(number * 86_400).slice(0, letters));
    counts.forEach((pages, verdict) => (bar[verdict] += pages));
  }
  return { unit, bars: [...bars] };
}

/** A row for each cluster: size, hosts, near copies, least similarity and largest distance. */
function describeClusters(view) {
  const { host } = report.page;
  return Array.from(view.canonical, (canonical, cluster) => {
    if (report.totals) {
      const [size, hosts, near, exact, similarity, distance] = report.totals.described[cluster];
      return { cluster, canonical, size, hosts, near, exact, similarity, distance };
    }
    const hosts = new Set();
    let near = 0, exact = 0, similarity = NO_SIMILARITY, distance = -1;
    for (let m = view.starts[cluster]; m < view.starts[cluster + 1]; m++) {
      const page = view.members[m];
      hosts.add(host[page]);
      if (page === canonical) continue;
      if (view.verdict[page] === NEAR) near++;
      else if (view.verdict[page] === EXACT) exact++;
      similarity = Math.min(similarity, view.similarity[page]);
      if (view.distance[page] !== NO_DISTANCE) distance = Math.max(distance, view.distance[page]);
    }
    const size = view.starts[cluster + 1] - view.starts[cluster];
    return { cluster, canonical, size, hosts: hosts.size, near, exact, similarity, distance: distance < 0 ? NO_DISTANCE : distance };
  });
}

/** How many clusters have at least as many pages as each of the sizes, and less than the next; and the largest. */
function countSizes(view, from) {
  if (report.totals) return { counts: report.totals.sizes, largest: report.totals.largest };
  const counts = new Array(from.length).fill(0);
  let largest = 0;
  for (let c = 0; c < view.canonical.length; c++) {
    const size = view.starts[c + 1] - view.starts[c];
    counts[from.findLastIndex((limit) => limit <= size)]++;
    largest = Math.max(largest, size);
  }
  return { counts, largest };
}

/** Pairs whose texts are not equal, by bits and by twentieths of similarity: [those that are pairs, others] each. */
function countPairs(view) {
  if (report.totals) return report.totals;
  const { pair } = report;
  const farthest = pair.distance.reduce((most, distance) => Math.max(most, distance), report.maxDistance);
  const blank = (length) => Array.from({ length }, () => [0, 0]);
  const [distances, similarities] = [blank(farthest + 1), blank(20)];
  for (let i = 0; i < pair.kind.length; i++) {
    if (pair.kind[i] === PAIR_EXACT) continue;
    const which = joins(i, view.maxDistance, view.minSimilarity * 100) ? 0 : 1;
    distances[pair.distance[i]][which]++;
    similarities[Math.min(19, Math.floor(pair.similarity[i] / 500))][which]++;
  }
  return { pairs: pair.kind.length, distances, similarities };
}
