// The list of clusters: searched, filtered and opened.

function makeClusters() {
  let lowered;
  const { pages, clusters } = report;
  const show = makeTable(byId("cluster-list"), {
    caption: "Clusters",
    order: [1, true],
    each: 20,
    empty: "No cluster is like that.",
    detail: clusterDetail,
    columns: [
      { label: "Canonical page", name: true, wide: true, value: (row) => pages[row.canonical].url, cell: (row) => pageName(row.canonical) },
      { label: "Pages", number: true, value: (row) => row.size, cell: (row) => count(row.size) },
      { label: "Near", number: true, value: (row) => row.near, cell: (row) => count(row.near) },
      { label: "Exact", number: true, value: (row) => row.exact, cell: (row) => count(row.exact) },
      { label: "Hosts", number: true, value: (row) => row.hosts, cell: (row) => count(row.hosts) },
      { label: "Least alike", number: true, value: (row) => row.least ?? 2, text: (row) => similarityText(row.least), cell: (row) => similarityText(row.least) },
    ],
  });
  const fields = ["search", "least", "reach", "content"].map(byId);

  function filter() {
    const [search, least, reach, content] = fields.map((field) => field.value);
    let kept = clusters.filter((row) =>
      row.size >= (Number(least) || 2) &&
      (!reach || (row.hosts > 1) === (reach === "several")) &&
      (!content || (row.near > 0) === (content === "near")));
    const wanted = search.trim().toLowerCase();
    if (wanted) {
      lowered ??= pages.map(({ url, title }) => `${url}\n${title}`.toLowerCase());
      kept = kept.filter((row) => lowered.slice(row.canonical, row.end).some((text) => text.includes(wanted)));
    }
    show(kept);
  }

  byId("filter").addEventListener("input", calmly(150, filter));
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  filter();
}

/** The canonical page of a cluster, its members, and the comparison of the two. */
function clusterDetail(row) {
  const { pages } = report;
  const comparison = element("div", { class: "comparison" });
  const compare = (page) => button("Compare", () => {
    showComparison(comparison, row.canonical, page);
    comparison.scrollIntoView({ block: "nearest" });
  }, { "aria-label": `Compare with ${cut(visible(pages[page].url), 100)}` });
  const list = element("div");
  const members = Array.from({ length: row.end - row.canonical - 1 }, (_, i) => row.canonical + 1 + i);
  const missing = row.size - 1 - members.length;
  makeTable(list, {
    caption: "Members of the cluster",
    each: 10,
    columns: [
      { label: "Member", name: true, wide: true, value: (page) => pages[page].url, cell: pageName },
      { label: "Verdict", value: (page) => pages[page].verdict, cell: (page) => pages[page].verdict },
      { label: "Distance", number: true, value: (page) => pages[page].distance ?? -1, text: (page) => distanceText(pages[page].distance), cell: (page) => distanceText(pages[page].distance) },
      { label: "Alike", number: true, value: (page) => pages[page].similarity ?? -1, text: (page) => similarityText(pages[page].similarity), cell: (page) => similarityText(pages[page].similarity) },
      { label: "Words", number: true, value: (page) => pages[page].tokens, cell: (page) => count(pages[page].tokens) },
      { label: "Fetched", number: true, value: (page) => pages[page].fetched ?? -1, text: (page) => day(pages[page].fetched), cell: (page) => day(pages[page].fetched) },
      { label: "Text", cell: compare },
    ],
  })(members);
  return element("div", { class: "detail" },
    element("p", { class: "canonical" }, "Keep ", pageLink(pages[row.canonical].url),
      ` — ${plural(pages[row.canonical].tokens, "word")}, fetched ${day(pages[row.canonical].fetched)}. It is repeated by:`),
    list, missing > 0 ? element("p", { class: "muted" }, `${plural(missing, "page")} more in clusters.jsonl.`) : null, comparison);
}
