// Numbers, dates, titles and links as they are shown.

const count = (number) => number.toLocaleString("en");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

/** A share in per cent; never 0 % of something, nor 100 % of less than all. */
function percent(part, whole) {
  if (!whole || !part) return "0 %";
  const share = (100 * part) / whole;
  if (share < 0.1) return "< 0.1 %";
  if (part < whole && share > 99.9) return "> 99.9 %";
  return `${share < 10 || (share > 99 && part < whole) ? share.toFixed(1) : Math.round(share)} %`;
}

const distanceText = (distance) => `${distance ?? "–"}`;
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

function isWeb(url) {
  try {
    return /^https?:$/.test(new URL(url).protocol);
  } catch {
    return false;
  }
}

/** A link to a page of the web, or the mere text of any other address. */
function pageLink(url) {
  const text = element("bdi", { dir: "ltr" }, cut(visible(url), 300) || "(no URL)");
  if (!isWeb(url)) return element("span", { class: "url" }, text);
  return element("a", { class: "url", href: url, rel: "noopener noreferrer nofollow", target: "_blank" }, text);
}

/** Title and link of a page that is listed. */
function pageName(page) {
  const { url, title } = report.pages[page];
  const shown = visible(title).trim();
  return element("div", { class: "page" }, shown ? element("bdi", { class: "title" }, shown) : null, pageLink(url));
}

const hostName = (host) => cut(visible(host), 80) || "(no host)";
