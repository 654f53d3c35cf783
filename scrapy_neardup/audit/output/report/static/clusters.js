// The list of clusters: searched, filtered, opened, and its pages downloaded.

function makeClusters() {
  let view, rows = [], lowered;
  const show = makeTable(byId("cluster-list"), {
    caption: "Clusters",
    order: [1, true],
    each: 20,
    empty: "No cluster is like that.",
    detail: (row) => clusterDetail(view, row),
    columns: [
      { label: "Canonical page", name: true, wide: true, value: (row) => report.urls[row.canonical], cell: (row) => pageName(row.canonical) },
      { label: "Pages", number: true, value: (row) => row.size, cell: (row) => count(row.size) },
      { label: "Near", number: true, value: (row) => row.near, cell: (row) => count(row.near) },
      { label: "Exact", number: true, value: (row) => row.exact, cell: (row) => count(row.exact) },
      { label: "Hosts", number: true, value: (row) => row.hosts, cell: (row) => count(row.hosts) },
      { label: "Least alike", number: true, value: (row) => row.similarity, text: (row) => similarityText(row.similarity), cell: (row) => similarityText(row.similarity) },
      { label: "Farthest", number: true, value: (row) => (row.distance === NO_DISTANCE ? -1 : row.distance), text: (row) => distanceText(row.distance), cell: (row) => distanceText(row.distance) },
    ],
  });
  const fields = ["search", "least", "reach", "content"].map(byId);

  function filter() {
    const [search, least, reach, content] = fields.map((field) => field.value);
    let kept = rows.filter((row) =>
      row.size >= (Number(least) || 2) &&
      (!reach || (row.hosts > 1) === (reach === "several")) &&
      (!content || (row.near > 0) === (content === "near")));
    const wanted = search.trim().toLowerCase();
    if (wanted) {
      lowered ??= report.urls.map((url, page) => `${url}\n${report.titles[page]}`.toLowerCase());
      const hits = new Set();
      lowered.forEach((text, page) => view.cluster[page] >= 0 && text.includes(wanted) && hits.add(view.cluster[page]));
      kept = kept.filter((row) => hits.has(row.cluster));
    }
    show(kept);
  }

  byId("filter").addEventListener("input", calmly(150, filter));
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("download-pages").addEventListener("click", () => download("pages.csv", "text/csv", csv(
    ["url", "verdict", "canonical", "cluster", "distance", "similarity", "tokens", "fetched", "title"], pageRows(view))));

  if (report.totals) byId("download-pages").textContent = `Download the ${plural(report.pages, "page")} listed (CSV)`;

  return (next) => {
    view = next;
    rows = describeClusters(view);
    filter();
  };
}

function* pageRows(view) {
  for (let page = 0; page < report.pages; page++) {
    const cluster = view.cluster[page];
    const known = (value, nothing, text) => (value === nothing ? "" : text(value));
    yield [
      report.urls[page], VERDICTS[view.verdict[page]], cluster < 0 ? "" : report.urls[view.canonical[cluster]], cluster < 0 ? "" : cluster,
      known(view.distance[page], NO_DISTANCE, distanceText), known(view.similarity[page], NO_SIMILARITY, similarityText),
      report.page.tokens[page], known(report.page.time[page], NO_TIME, day), report.titles[page],
    ];
  }
}

/** The canonical page of a cluster, its members, and the comparison of the two. */
function clusterDetail(view, row) {
  const comparison = element("div", { class: "comparison" });
  const compare = (page) => button("Compare", () => {
    showComparison(comparison, row.canonical, page);
    comparison.scrollIntoView({ block: "nearest" });
  }, { "aria-label": `Compare with ${cut(visible(report.urls[page]), 100)}` });
  const list = element("div");
  const members = Array.from(view.members.subarray(view.starts[row.cluster] + 1, view.starts[row.cluster + 1]));
  const missing = row.size - 1 - members.length;
  makeTable(list, {
    caption: "Members of the cluster",
    each: 10,
    columns: [
      { label: "Member", name: true, wide: true, value: (page) => report.urls[page], cell: pageName },
      { label: "Verdict", value: (page) => VERDICTS[view.verdict[page]], cell: (page) => VERDICTS[view.verdict[page]] },
      { label: "Distance", number: true, value: (page) => view.distance[page], cell: (page) => distanceText(view.distance[page]) },
      { label: "Alike", number: true, value: (page) => view.similarity[page], cell: (page) => similarityText(view.similarity[page]) },
      { label: "Words", number: true, value: (page) => report.page.tokens[page], cell: (page) => count(report.page.tokens[page]) },
      { label: "Fetched", number: true, value: (page) => report.page.time[page], cell: (page) => day(report.page.time[page]) },
      { label: "Text", cell: compare },
    ],
  })(members);
  return element("div", { class: "detail" },
    element("p", { class: "canonical" }, "Keep ", pageLink(report.urls[row.canonical]),
      ` — ${plural(report.page.tokens[row.canonical], "word")}, fetched ${day(report.page.time[row.canonical])}. It is repeated by:`),
    list, missing > 0 ? element("p", { class: "muted" }, `${plural(missing, "page")} more in clusters.jsonl.`) : null, comparison);
}
