// Clusters at any threshold, from the pairs that the audit compared.

/** Disjoint sets of 0 to size - 1; find halves paths. */
function disjointSets(size) {
  const parents = new Int32Array(size);
  for (let i = 0; i < size; i++) parents[i] = i;
  const find = (i) => {
    while (parents[i] !== i) i = parents[i] = parents[parents[i]];
    return i;
  };
  // The smaller number is the root; halved paths alone keep this near linear.
  const unite = (a, b) => {
    a = find(a);
    b = find(b);
    if (a < b) parents[b] = a;
    else parents[a] = b;
  };
  return { find, unite };
}

/**
 * Whether pair i is one at a threshold that asks for as much as the audit or more. What the audit refused, for its
 * similarity, its names or its template, is none; what it took for more reasons than these two numbers is one up to
 * the audit's own, and one at any distance if it was farther apart then.
 */
function joins(i, maxDistance, least) {
  const { kind, distance, similarity } = report.pair;
  if (kind[i] === PAIR_EXACT) return true;
  return kind[i] >= PAIR_PART &&
    (distance[i] <= maxDistance || distance[i] > report.maxDistance) &&
    (similarity[i] >= least || least <= report.minSimilarity * 100);
}

/** The pages of each cluster, canonical page first: those of cluster c are members[starts[c]] to members[starts[c + 1] - 1]. */
function withMembers(view) {
  const { cluster, canonical } = view;
  const starts = new Int32Array(canonical.length + 1);
  for (const c of cluster) if (c >= 0) starts[c + 1]++;
  for (let c = 0; c < canonical.length; c++) starts[c + 1] += starts[c];
  const next = starts.map((start) => start + 1);
  const members = new Int32Array(starts[canonical.length]);
  canonical.forEach((page, c) => (members[starts[c]] = page));
  cluster.forEach((c, page) => {
    if (c >= 0 && canonical[c] !== page) members[next[c]++] = page;
  });
  return { ...view, starts, members };
}

/** The audit's own clusters: each member was verified against its canonical page. */
function auditedView() {
  const { page, canonical, maxDistance, minSimilarity } = report;
  const { cluster, verdict, distance, similarity } = page;
  return withMembers({ audited: true, maxDistance, minSimilarity, cluster, canonical, verdict, distance, similarity });
}

/** Clusters of all pages that pairs at this threshold connect, directly or through others. */
function regroupedView(maxDistance, minSimilarity) {
  const { pair, page, pages } = report;
  const least = minSimilarity * 100;
  const sets = disjointSets(pages);
  const equal = disjointSets(pages);
  const joined = [];
  for (let i = 0; i < pair.first.length; i++) {
    if (!joins(i, maxDistance, least)) continue;
    joined.push(i);
    sets.unite(pair.first[i], pair.second[i]);
    if (pair.kind[i] === PAIR_EXACT) equal.unite(pair.first[i], pair.second[i]);
  }
  const cluster = new Int32Array(pages).fill(-1);
  const numbers = new Int32Array(pages).fill(-1); // of the cluster of each root
  const canonical = [];
  const place = (p) => {
    const root = sets.find(p);
    if (numbers[root] < 0) numbers[root] = canonical.push(p) - 1;
    const c = (cluster[p] = numbers[root]);
    if (page.rank[p] < page.rank[canonical[c]]) canonical[c] = p;
  };
  for (const i of joined) {
    place(pair.first[i]);
    place(pair.second[i]);
  }
  const distance = new Uint8Array(pages).fill(NO_DISTANCE);
  const similarity = new Uint16Array(pages).fill(NO_SIMILARITY);
  const verdict = page.verdict.slice();
  for (let p = 0; p < pages; p++) {
    if (verdict[p] === EXACT || verdict[p] === NEAR || verdict[p] === PART) verdict[p] = UNIQUE;
    const c = cluster[p];
    if (c < 0) continue;
    const same = equal.find(p) === equal.find(canonical[c]);
    if (same) [distance[p], similarity[p]] = [0, 10_000];
    if (p !== canonical[c] && verdict[p] !== REVISIT) verdict[p] = same ? EXACT : NEAR;
  }
  const compare = (p, other, i) => {
    if (canonical[cluster[p]] !== other || similarity[p] !== NO_SIMILARITY) return;
    distance[p] = pair.distance[i];
    similarity[p] = pair.similarity[i];
    if (verdict[p] === NEAR && pair.kind[i] === PAIR_PART) verdict[p] = PART;
  };
  for (const i of joined) {
    compare(pair.first[i], pair.second[i], i);
    compare(pair.second[i], pair.first[i], i);
  }
  return withMembers({ audited: false, maxDistance, minSimilarity, cluster, canonical: Int32Array.from(canonical), verdict, distance, similarity });
}
