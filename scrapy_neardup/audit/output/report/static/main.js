// Starts the report: theme, figures, clusters.

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
  showOverview();
  makeClusters();
  let width = innerWidth;
  addEventListener("resize", calmly(150, () => {
    if (innerWidth !== width) showCharts();
    width = innerWidth;
  }));
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  byId("failure").hidden = false;
  byId("failure").textContent = `This report cannot be shown: ${error.message}. A browser of 2024 or later is needed.`;
  throw error;
});
