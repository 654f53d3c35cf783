// The list of clusters: searched, opened, and their pages compared.

const EACH = 20;

/** A button that shows and hides what `make` makes, in a row below. */
function opener(row, columns, make) {
  const open = button("▸", () => {
    const closed = open.getAttribute("aria-expanded") === "false";
    open.setAttribute("aria-expanded", closed);
    open.textContent = closed ? "▾" : "▸";
    if (closed) row().after(element("tr", { class: "opened" }, element("td", { colspan: columns }, make())));
    else row().nextSibling.remove();
  }, { "aria-expanded": "false", "aria-label": "Open", class: "opener" });
  return open;
}

function showClusters(target, clusters) {
  const heads = ["", "Canonical page", "Pages", "Near", "Exact", "Parts", "Hosts"];
  const table = makeTable("Clusters", heads);
  let shown = 0;
  const place = element("span", { role: "status" });
  const more = button("Show more", () => add());
  const add = () => {
    for (const cluster of clusters.slice(shown, shown + EACH)) {
      const open = opener(() => row, heads.length, () => clusterDetail(cluster));
      const row = table.add([open, pageName(cluster.pages[0]), cluster.size, cluster.near, cluster.exact, cluster.parts, cluster.hosts]);
    }
    shown = Math.min(shown + EACH, clusters.length);
    more.hidden = shown === clusters.length;
    place.textContent = clusters.length ? `${count(shown)} of ${plural(clusters.length, "cluster")}` : "No cluster is like that.";
  };
  add();
  target.replaceChildren(table.node, element("p", { class: "muted" }, place, " ", more));
}

/** The canonical page of a cluster, its members, and the comparison of the two. */
function clusterDetail({ size, pages: [kept, ...members] }) {
  const comparison = element("div", { class: "comparison" });
  const table = makeTable("Members of the cluster", ["Member", "Verdict", "Distance", "Alike", "Words", "Fetched", "Text"]);
  for (const page of members) {
    const compare = button("Compare", () => {
      showComparison(comparison, kept, page);
      comparison.scrollIntoView({ block: "nearest" });
    }, { "aria-label": `Compare with ${cut(visible(page.url), 100)}` });
    table.add([pageName(page), page.verdict, page.distance ?? "–", similarityText(page.similarity), page.tokens, day(page.fetched), compare]);
  }
  const missing = size - 1 - members.length;
  return element("div", { class: "detail" },
    element("p", { class: "canonical" }, "Keep ", pageLink(kept.url), ` — ${plural(kept.tokens, "word")}, fetched ${day(kept.fetched)}. It is repeated by:`),
    table.node, missing > 0 ? element("p", { class: "muted" }, `${plural(missing, "page")} more in clusters.jsonl.`) : null, comparison);
}

async function start() {
  const clusters = await unpackClusters();
  const lowered = clusters.map(({ pages }) => pages.map(({ url, title }) => `${url}\n${title}`.toLowerCase()).join("\n\n"));
  const search = () => {
    const wanted = byId("search").value.trim().toLowerCase();
    showClusters(byId("cluster-list"), clusters.filter((_, i) => lowered[i].includes(wanted)));
  };
  let timer;
  byId("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 150);
  });
  search();
  byId("clusters").hidden = false;
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `The clusters cannot be shown: ${error.message}. A browser of 2024 or later is needed.`;
  throw error;
});
