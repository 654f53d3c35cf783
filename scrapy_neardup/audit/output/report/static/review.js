// Borderline pairs: a person says same or different, and takes the labels along.

const SAME = "3", DIFFERENT = "0"; // as in labelled pairs elsewhere: 3 the same text, 0 another
const AUDIT_SAYS = ["different", "one template", "part of", "near copy", "exact copy"];
const LABELS = { [SAME]: "same", [DIFFERENT]: "different" };

function makeReview() {
  const pairs = Array.from(report.review);
  const one = byId("review-one");
  if (!pairs.length) {
    one.replaceChildren(element("p", { class: "muted" }, "There are no pairs to review."));
    return;
  }
  const { pair } = report;
  const idOf = (i) => [report.urls[pair.first[i]], report.urls[pair.second[i]]].map(tsvUrl).join("\t");
  const key = `neardup-labels-${report.reviewed}`;
  const labels = new Map(Object.entries(JSON.parse(memory.get(key) ?? "{}"))); // of pairs by their ids
  let at = 0;

  const comparison = element("div", { class: "comparison" });
  const facts = element("p", { class: "facts", role: "status" });
  const choices = Object.entries(LABELS).reverse().map(([label, name]) =>
    [label, button(`${name[0].toUpperCase()}${name.slice(1)} `, () => mark(label), { class: "choice" })]);
  for (const [label, choice] of choices) choice.append(element("kbd", {}, label === SAME ? "S" : "D"));
  const save = button("", () => download("labels.tsv", "text/tab-separated-values", labelLines()), { id: "download-labels", class: "strong" });
  one.replaceChildren(
    facts,
    element("div", { class: "choices" }, ...choices.map(([, choice]) => choice),
      button("Clear ", () => mark(null), { class: "choice" }),
      button("Previous ", () => go(at - 1)), button("Next ", () => go(at + 1)), save),
    element("p", { class: "muted" }, "Keys, while this part has the focus: ", ...[["S", " same, "], ["D", " different, "], ["J", " next, "], ["K", " previous. "]]
      .flatMap(([k, what]) => [element("kbd", {}, k), what]), "Labels stay in this browser until you download them."),
    comparison);
  one.querySelectorAll(".choices button")[2].append(element("kbd", {}, "C"));
  one.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { s: () => mark(SAME), d: () => mark(DIFFERENT), c: () => mark(null), j: () => go(at + 1), k: () => go(at - 1) }[event.key.toLowerCase()];
    if (act) {
      event.preventDefault();
      act();
    }
  });
  const showList = makeTable(byId("review-list"), {
    caption: "Pairs to review",
    each: 10,
    columns: [
      { label: "Pair", number: true, value: (n) => n, cell: (n) => button(count(n + 1), () => { go(n); one.focus(); }, { "aria-label": `Judge pair ${n + 1}` }) },
      { label: "Pages", name: true, wide: true, text: (n) => exampleText([pair.first[pairs[n]], pair.second[pairs[n]]]), cell: (n) => examplePair(pair.first[pairs[n]], pair.second[pairs[n]]) },
      { label: "Distance", number: true, value: (n) => pair.distance[pairs[n]], cell: (n) => distanceText(pair.distance[pairs[n]]) },
      { label: "Alike", number: true, value: (n) => pair.similarity[pairs[n]], text: (n) => similarityText(pair.similarity[pairs[n]]), cell: (n) => similarityText(pair.similarity[pairs[n]]) },
      { label: "Audit", value: (n) => AUDIT_SAYS[pair.kind[pairs[n]]], cell: (n) => AUDIT_SAYS[pair.kind[pairs[n]]] },
      { label: "You", value: (n) => labelOf(n) ?? "", cell: (n) => element("span", { "data-label": n }, LABELS[labelOf(n)] ?? "–") },
    ],
  });

  function labelOf(n) {
    return labels.get(idOf(pairs[n]));
  }

  function mark(label) {
    const id = idOf(pairs[at]);
    if (label === null) labels.delete(id);
    else labels.set(id, label);
    memory.set(key, JSON.stringify(Object.fromEntries(labels)));
    const cell = byId("review-list").querySelector(`[data-label="${at}"]`);
    if (cell) cell.textContent = LABELS[label] ?? "–";
    if (label !== null && at + 1 < pairs.length) go(at + 1);
    else showFacts();
  }

  function showFacts() {
    const i = pairs[at];
    facts.replaceChildren(
      element("strong", {}, `Pair ${count(at + 1)} of ${count(pairs.length)}`),
      ` · ${plural(pair.distance[i], "bit")} apart · ${similarityText(pair.similarity[i])} alike · audit: ${AUDIT_SAYS[pair.kind[i]]} · you: ${LABELS[labelOf(at)] ?? "not yet"}`);
    for (const [label, choice] of choices) choice.setAttribute("aria-pressed", labelOf(at) === label);
    save.textContent = `Download ${plural(labels.size, "label")} (TSV)`;
    save.disabled = !labels.size;
  }

  function go(n) {
    at = Math.min(Math.max(0, n), pairs.length - 1);
    showFacts();
    showComparison(comparison, pair.first[pairs[at]], pair.second[pairs[at]], ["One page", "Other page"]);
  }

  function* labelLines() {
    yield "id1\tid2\tlabel\tkind\n";
    for (const i of pairs) {
      const label = labels.get(idOf(i));
      if (label !== undefined) yield `${idOf(i)}\t${label}\t${AUDIT_SAYS[pair.kind[i]].replace(" ", "_")}\n`;
    }
  }

  showList(pairs.map((_, n) => n));
  go(0);
}
