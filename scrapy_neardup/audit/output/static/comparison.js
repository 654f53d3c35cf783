// Two main texts side by side, with what differs marked.

/** Equal sentences shown around a change; more are folded. */
const CONTEXT = 2;

const side = (name, ...content) => element("div", { class: `side ${name}`, dir: "auto" }, ...content);

const equalRows = (lines) =>
  lines.map((line) => element("div", { class: "row" }, side("left", visible(line)), side("right", visible(line))));

function equalPassage(lines, first, last) {
  const before = first ? 0 : CONTEXT;
  const after = last ? 0 : CONTEXT;
  if (lines.length <= before + after + 2) return equalRows(lines);
  const middle = lines.slice(before, lines.length - after);
  const fold = element("div", { class: "fold" },
    button(`Show ${plural(middle.length, "equal passage")}`, () => fold.replaceWith(...equalRows(middle))));
  return [...equalRows(lines.slice(0, before)), fold, ...equalRows(lines.slice(lines.length - after))];
}

function changedRow(pieces) {
  const marked = (key, tag) =>
    pieces.filter((piece) => piece[key].length).map((piece) => {
      const text = visible(piece[key].join(""), "\n\t");
      return piece.same ? text : element(tag, {}, text);
    });
  return element("div", { class: "row changed" }, side("left", ...marked("a", "del")), side("right", ...marked("b", "ins")));
}

/** Fill the element with the comparison of two pages, the left one being that which is kept. */
async function showComparison(target, left, right) {
  const turn = (target.turn = {}); // the last comparison asked for is the one shown
  target.replaceChildren(element("p", { class: "muted" }, "Comparing …"));
  const texts = await Promise.all([textOf(left), textOf(right)]);
  if (target.turn !== turn) return;
  const heads = element("div", { class: "row heads" },
    side("left", element("h3", {}, "Canonical page"), pageName(left)),
    side("right", element("h3", {}, "This page"), pageName(right)));
  if (texts.includes(null)) {
    target.replaceChildren(heads, element("p", { class: "note" },
      "The texts of these pages are not in this file, which holds those of the largest clusters."));
    return;
  }
  const { passages, counts } = compareTexts(...texts);
  const cutShort = texts.some((text) => text.length >= 20_000) ? " Only the first 20,000 characters are compared." : "";
  const summary = counts.left || counts.right
    ? `${plural(counts.same, "word")} the same, ${count(counts.left)} only on the left, ${count(counts.right)} only on the right.`
    : texts[0] === texts[1] ? "The texts are equal." : "The words are equal; signs or spaces differ.";
  const rows = passages.flatMap((passage, i) =>
    passage.same ? equalPassage(passage.lines, i === 0, i === passages.length - 1) : [changedRow(passage.pieces)]);
  target.replaceChildren(
    heads,
    element("p", { class: "muted", role: "status" }, summary + cutShort),
    element("div", { class: "diff", tabindex: "0", role: "group", "aria-label": "Comparison of two texts" }, ...rows));
}
