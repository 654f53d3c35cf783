// Elements, and numbers, dates and links as they are shown. What comes from the crawl only ever becomes a text node.

const byId = (id) => document.getElementById(id);

/** An HTML element; properties that are functions listen to the event of that name. */
function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const button = (label, click, properties = {}) => element("button", { type: "button", click, ...properties }, label);

const count = (number) => number.toLocaleString("en");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
// Cut, not rounded: what is not equal is not shown as 1.
const similarityText = (similarity) => (similarity == null ? "–" : (Math.floor(similarity * 1000 + 1e-6) / 1000).toFixed(3));
const day = (seconds) => (seconds == null ? "–" : new Date(seconds * 1000).toISOString().slice(0, 10));

/** Text without characters that hide, reorder or command: each is shown instead. */
function visible(text, keep = "") {
  return text
    .replace(/[\u0000-\u001f\u007f]/g, (c) =>
      keep.includes(c) ? c : c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) =>
      `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

/** A link to a page of the web, or the mere text of any other address. */
function pageLink(url) {
  const text = element("bdi", { dir: "ltr" }, cut(visible(url), 300) || "(no URL)");
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return element("span", { class: "url" }, text);
  return element("a", { class: "url", href: url, rel: "noopener noreferrer nofollow", target: "_blank" }, text);
}

/** Title and link of a page that is listed. */
function pageName({ url, title }) {
  const shown = visible(title).trim();
  return element("div", { class: "page" }, shown ? element("bdi", { class: "title" }, shown) : null, pageLink(url));
}

/** A table; numbers stand on the right. Returns it with `add(cells)`, which adds a row and returns it. */
function makeTable(caption, heads) {
  const body = element("tbody");
  const table = element("table", {}, element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), body);
  const add = (cells) => {
    const row = element("tr", {}, ...cells.map((cell, i) =>
      element("td", { "data-column": heads[i], class: typeof cell === "number" && "number" }, typeof cell === "number" ? count(cell) : cell)));
    body.append(row);
    return row;
  };
  return { node: element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, table), body, add };
}
