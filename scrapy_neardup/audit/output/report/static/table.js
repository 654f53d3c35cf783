// Tables: sorted by their heads, a page at a time, rows that open.

/**
 * A table in `target`; returns show(rows), which keeps the order and goes to the first page.
 *
 * Columns: {label, value(row) to sort by, cell(row) to show, number, name (the row's head), wide}; all that have a
 * value, or text(row) in its place, can be saved as CSV, whatever page is shown. `detail(row)`
 * gives what a row opens. `order` is [column, descending] to begin with, or null for that of the rows.
 */
function makeTable(target, { caption, columns, order = null, each = 15, detail, empty = "None." }) {
  let rows = [], sorted = [], page = 0;
  const heads = columns.map((column, i) => {
    const head = element("th", { scope: "col", class: column.number ? "number" : null });
    head.append(column.value ? button(column.label, () => sortBy(i)) : column.label);
    return head;
  });
  const body = element("tbody");
  const table = element("table", {},
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, detail ? element("th", { scope: "col" }, element("span", { class: "unseen" }, "Open")) : null, ...heads)),
    body);
  const nothing = element("p", { class: "muted nothing" }, empty);
  const place = element("span", { role: "status" });
  const turn = (label, to, name) => button(label, () => draw(to()), { "aria-label": `${name} page: ${caption}` });
  const last = () => Math.max(0, Math.ceil(sorted.length / each) - 1);
  const back = [turn("«", () => 0, "First"), turn("‹", () => page - 1, "Previous")];
  const forth = [turn("›", () => page + 1, "Next"), turn("»", last, "Last")];
  const pager = element("nav", { class: "pager", "aria-label": `Pages: ${caption}` }, ...back, place, ...forth);
  const saved = columns.filter((column) => column.text ?? column.value);
  const save = button("CSV", () => download(`${caption.toLowerCase().replaceAll(/[^a-z]+/g, "-")}.csv`, "text/csv", csv(
    saved.map((column) => column.label), sorted.map((row) => saved.map((column) => (column.text ?? column.value)(row))))),
  { class: "save", "aria-label": `Download table: ${caption}` });
  target.replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, table), nothing, element("div", { class: "under" }, pager, save));

  function sortBy(i) {
    const descending = order?.[0] === i ? !order[1] : Boolean(columns[i].number);
    order = [i, descending];
    arrange();
  }

  function arrange() {
    sorted = rows.slice();
    if (order) {
      const [i, descending] = order;
      const keyed = sorted.map((row) => [columns[i].value(row), row]);
      const sign = descending ? -1 : 1;
      keyed.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0));
      sorted = keyed.map(([, row]) => row);
      for (const head of heads) head.removeAttribute("aria-sort");
      heads[i].setAttribute("aria-sort", descending ? "descending" : "ascending");
    }
    draw(0);
  }

  function draw(to) {
    page = Math.min(Math.max(0, to), last());
    const shown = sorted.slice(page * each, (page + 1) * each);
    body.replaceChildren(...shown.map(rowOf));
    nothing.hidden = shown.length > 0;
    table.hidden = save.hidden = !shown.length;
    pager.hidden = sorted.length <= each;
    place.textContent = `${count(page * each + 1)}–${count(page * each + shown.length)} of ${count(sorted.length)}`;
    for (const b of back) b.disabled = page === 0;
    for (const b of forth) b.disabled = page === last();
  }

  function rowOf(row) {
    const cells = columns.map((column) =>
      element(column.name ? "th" : "td", { scope: column.name ? "row" : null, "data-column": column.label, class: [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ") || null }, column.cell(row)));
    if (!detail) return element("tr", {}, ...cells);
    let opened;
    const opener = button("▸", () => {
      const open = opener.getAttribute("aria-expanded") === "false";
      opener.setAttribute("aria-expanded", open);
      opener.textContent = open ? "▾" : "▸";
      if (!open) return opened.remove();
      opened = element("tr", { class: "opened" }, element("td", { colspan: columns.length + 1 }, detail(row)));
      line.after(opened);
    }, { "aria-expanded": "false", "aria-label": "Open", class: "opener" });
    const line = element("tr", {}, element("td", {}, opener), ...cells);
    return line;
  }

  return (next) => {
    rows = next;
    arrange();
  };
}
