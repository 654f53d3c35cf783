// Charts: stacked bars in SVG, each with its numbers as a table.

const HEIGHT = 170;
const PARTS = [["unique", "unique"], ["near", "near copies"], ["exact", "exact copies"], ["other", "set aside"]];

/** A line of stacked parts as wide as its place; `parts` as of barParts. */
function stackedLine(parts) {
  const whole = parts.reduce((sum, part) => sum + part, 0);
  let start = 0;
  const pieces = parts.map((part, i) => {
    const piece = drawing("rect", { class: PARTS[i][0], x: `${(100 * start) / whole}%`, width: `${(100 * part) / whole}%`, height: "100%" },
      drawing("title", {}, `${count(part)} ${PARTS[i][1]} (${percent(part, whole)})`));
    start += part;
    return part ? piece : null;
  });
  const label = parts.map((part, i) => `${count(part)} ${PARTS[i][1]}`).join(", ");
  return drawing("svg", { class: "line", role: "img", "aria-label": label, width: "100%", height: "100%" }, ...pieces);
}

const legend = (parts = PARTS) =>
  element("p", { class: "legend" }, ...parts.map(([name, label]) =>
    element("span", {}, element("i", { class: `key ${name}`, "aria-hidden": "true" }), label)));

/** Round up to a whole number that is short to write. */
function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= value && Number.isInteger(top));
}

/**
 * Stacked columns: `bars` are [label, values], `series` [class, label]. `mark` is a position between bars to mark,
 * with its label.
 */
function columnChart(target, { title, bars, series, axis, mark }) {
  const width = Math.max(280, target.clientWidth || 480);
  const [left, right, top, bottom] = [46, 6, 12, 20];
  const sums = bars.map(([, values]) => values.reduce((sum, value) => sum + value, 0));
  const highest = niceTop(Math.max(1, ...sums));
  const step = (width - left - right) / Math.max(1, bars.length);
  const y = (value) => top + (HEIGHT - top - bottom) * (1 - value / highest);
  const chart = drawing("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "columns", role: "img",
    "aria-label": `${title}. The numbers are in the table that follows.` });
  for (const value of highest % 2 ? [0, highest] : [0, highest / 2, highest]) {
    chart.append(
      drawing("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      drawing("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, count(value)));
  }
  const every = Math.ceil((Math.max(...bars.map(([label]) => label.length), 1) * 7 + 8) / step);
  bars.forEach(([label, values], i) => {
    const x = left + i * step;
    const gap = Math.min(3, step / 5);
    let sum = 0;
    values.forEach((value, s) => {
      if (!value) return;
      sum += value;
      const size = Math.max(1, y(sum - value) - y(sum)); // a bar of one page is seen beside one of a million
      chart.append(drawing("rect", { class: series[s][0], x: x + gap / 2, width: step - gap, y: y(sum - value) - size, height: size },
        drawing("title", {}, `${label}: ${count(value)} ${series[s][1]}`)));
    });
    if (i % every === 0) chart.append(drawing("text", { class: "tick", x: x + step / 2, y: HEIGHT - 5, "text-anchor": "middle" }, label));
  });
  if (mark) {
    const x = left + mark.at * step;
    chart.append(
      drawing("line", { class: "mark", x1: x, x2: x, y1: 2, y2: HEIGHT - bottom }),
      drawing("text", { class: "tick mark", x: x + (x > width / 2 ? -5 : 5), y: 11, "text-anchor": x > width / 2 ? "end" : "start" }, mark.label));
  }
  const open = target.querySelector("details")?.open ?? false;
  const table = element("table", {},
    element("caption", { class: "unseen" }, title),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, axis), ...series.map(([, label]) => element("th", { scope: "col", class: "number" }, label)))),
    element("tbody", {}, ...bars.map(([label, values]) => element("tr", {}, element("th", { scope: "row" }, label), ...values.map((value) => element("td", { class: "number" }, count(value)))))));
  target.replaceChildren(element("figure", {},
    element("figcaption", {}, element("h3", {}, title), legend(series)),
    chart,
    element("p", { class: "axis muted" }, axis),
    element("details", { open }, element("summary", {}, "Numbers"), element("div", { class: "numbers", tabindex: "0", role: "group", "aria-label": `Numbers: ${title}` }, table))));
}
