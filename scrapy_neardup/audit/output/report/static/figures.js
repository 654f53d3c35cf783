// What is counted of a view: by verdict, host, pair of hosts, time and pattern.

const isRepeat = (verdict) => verdict === EXACT || verdict === NEAR;

function countVerdicts(view) {
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
  const rows = report.hosts.map((_, host) => ({ host, pages: 0, totals: new Array(VERDICTS.length).fill(0) }));
  report.page.host.forEach((host, page) => {
    rows[host].pages++;
    rows[host].totals[view.verdict[page]]++;
  });
  for (const row of rows) row.repeats = row.totals[EXACT] + row.totals[NEAR];
  return rows;
}

/** A row for each pair of hosts: pages of the one that repeat a canonical page of the other. */
function countHostPairs(view) {
  const { host } = report.page;
  const rows = new Map();
  for (let c = 0; c < view.canonical.length; c++) {
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
  return report.patterns.map(([kind, name, page, original, advice, length]) => {
    let repeats = 0;
    for (let i = start; i < start + length; i++) if (isRepeat(view.verdict[report.patternPages[i]])) repeats++;
    start += length;
    return { kind, name, example: [page, original], advice, pages: length, repeats };
  });
}

/** Pages by day, month or year, whichever gives at most 60 bars; null if dates are not known or all one. */
function countTimes(view) {
  const { time } = report.page;
  let least = Infinity, most = -Infinity;
  for (const t of time) {
    if (t === NO_TIME) continue;
    if (t < least) least = t;
    if (t > most) most = t;
  }
  if (!(day(most === -Infinity ? NO_TIME : most) > day(least === Infinity ? NO_TIME : least))) return null;
  const days = (most - least) / 86_400;
  const [unit, letters] = days <= 60 ? ["day", 10] : days <= 1800 ? ["month", 7] : ["year", 4];
  const bars = new Map();
  const step = new Date(least * 1000);
  step.setUTCHours(12, 0, 0, 0);
  if (unit !== "day") step.setUTCDate(1);
  const last = day(most).slice(0, letters);
  for (let label = ""; label < last; step.setUTCDate(step.getUTCDate() + (unit === "day" ? 1 : 28))) {
    label = step.toISOString().slice(0, letters);
    bars.set(label, new Array(VERDICTS.length).fill(0));
  }
  const byDay = new Map(); // dates are made once a day, not once a page
  time.forEach((t, page) => {
    if (t === NO_TIME) return;
    const number = Math.floor(t / 86_400);
    if (!byDay.has(number)) byDay.set(number, bars.get(day(t).slice(0, letters)));
    byDay.get(number)[view.verdict[page]]++;
  });
  return { unit, bars: [...bars] };
}

/** A row for each cluster: size, hosts, near copies, least similarity and largest distance. */
function describeClusters(view) {
  const { host } = report.page;
  return Array.from(view.canonical, (canonical, cluster) => {
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
