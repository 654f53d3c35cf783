// Starts the report: theme, figures, threshold.

let report;

function makeTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", theme === "dark" ? "Light colours" : "Dark colours");
  };
  const remembered = memory.get("neardup-theme");
  set(remembered ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => memory.get("neardup-theme") ?? set(dark.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    set(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    memory.set("neardup-theme", document.documentElement.dataset.theme);
  });
}

function makeThreshold(changed) {
  const [distance, similarity] = [byId("distance"), byId("similarity")];
  const { pair, maxDistance, minSimilarity, settings, totals } = report;
  const asked = settings.find(([name]) => name === "Asked of near copies")?.[1];
  const further = totals
    ? " Not all pages are in this file, so it cannot be changed here: scrapy-neardup rethreshold judges again."
    : " What the audit refused stays refused here: scrapy-neardup rethreshold judges again with less.";
  distance.max = maxDistance;
  similarity.min = minSimilarity;

  function update() {
    const audited = Number(distance.value) === maxDistance && Number(similarity.value) === minSimilarity;
    byId("distance-now").textContent = plural(Number(distance.value), "bit");
    byId("similarity-now").textContent = `${similarity.value} %`;
    byId("audited").disabled = audited;
    byId("threshold-note").textContent = audited
      ? "As audited: every page in a cluster was checked against the page to keep." + (asked ? ` Asked of near copies: ${asked}.` : "") + further
      : "Stricter than audited: this file’s pairs are grouped again here, and whatever pairs connect is one cluster, even " +
        "through others (–). Pairs that the audit took for more reasons than these two numbers count as just inside its " +
        "own threshold, and stay at any distance if they are farther apart than it asks." + further;
    changed(audited ? auditedView() : regroupedView(Number(distance.value), Number(similarity.value)));
  }

  const soon = calmly(60, update);
  const reset = () => {
    [distance.value, similarity.value] = [maxDistance, minSimilarity];
    update();
  };
  byId("threshold").addEventListener("input", soon);
  byId("threshold").addEventListener("submit", (event) => event.preventDefault());
  byId("audited").addEventListener("click", () => {
    reset();
    distance.focus();
  });
  if (!pair.kind.length || totals) distance.disabled = similarity.disabled = true;
  reset();
}

function showAbout() {
  const { sources, settings, problems, skipped, version, maxDistance, minSimilarity } = report;
  byId("sources").textContent = cut(sources.map(([name]) => visible(name)).join(", "), 160);
  const rows = [
    ["Largest distance", plural(maxDistance, "bit")], ["Least similarity", `${minSimilarity} %`], ...settings,
    ["Version", `scrapy-neardup ${version}`],
  ];
  byId("settings").replaceChildren(...rows.map(([name, value]) => element("div", {}, element("dt", {}, cut(visible(name), 100)), element("dd", {}, element("bdi", {}, cut(visible(value), 300))))));
  const text = (i) => (row) => element("bdi", {}, cut(visible(row[i]), 300));
  makeTable(byId("source-list"), { caption: "Sources", columns: [
    { label: "Source", name: true, wide: true, value: (row) => row[0], cell: text(0) },
    { label: "Kind", value: (row) => row[1], cell: text(1) },
    { label: "Pages", number: true, value: (row) => row[2], cell: (row) => count(row[2]) },
  ] })(sources);
  makeTable(byId("problems"), { caption: "Records skipped", columns: [
    { label: "Source", name: true, value: (row) => row[0], cell: text(0) },
    { label: "Place", value: (row) => row[1], cell: text(1) },
    { label: "Problem", wide: true, value: (row) => row[2], cell: text(2) },
  ] })(problems);
  if (skipped > problems.length) byId("problems").append(element("p", { class: "muted" }, `${plural(skipped, "record")} in all.`));
}

async function start() {
  makeTheme();
  report = await unpackReport();
  showAbout();
  const [showFigures, showClusters] = [makeOverview(), makeClusters()];
  let view;
  makeThreshold((next) => {
    view = next;
    showFigures(view);
    showClusters(view);
  });
  let width = innerWidth;
  addEventListener("resize", calmly(150, () => {
    if (innerWidth !== width) showCharts(view);
    width = innerWidth;
  }));
  makeReview();
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `This report cannot be shown: ${error.message}. A browser of 2024 or later is needed.`;
  throw error;
});
