// The data of this file: gzip in base64, unpacked when it is needed.

const NO_DISTANCE = 255;
const NO_SIMILARITY = 65_535;
const NO_TIME = 4_294_967_295;
const [UNIQUE, EXACT, NEAR, PART, TEMPLATE, WALL, TOO_SHORT, REVISIT] = [0, 1, 2, 3, 4, 5, 6, 7];
const VERDICTS = ["unique", "exact", "near", "part", "template", "wall", "too short", "revisit"];
const [PAIR_REJECTED, PAIR_TEMPLATE, PAIR_PART, PAIR_NEAR, PAIR_EXACT] = [0, 1, 2, 3, 4];

const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(name) {
  const stream = new Blob([fromBase64(byId(`data-${name}`).textContent)]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

const unpackJson = async (name) => JSON.parse(new TextDecoder().decode(await unpack(name)));

async function unpackStrings(name, length, each) {
  const parts = [];
  for (let start = 0; start < length; start += each) parts.push(...(await unpackJson(`${name}-${start / each}`)));
  return parts;
}

/** Everything but the texts. */
async function unpackReport() {
  const description = await unpackJson("report");
  const column = async (name, Type) => new Type(await unpack(name));
  const { pages, strings } = description;
  const data = {
    ...description,
    totals: await unpackJson("totals"), // of all pages, if this file does not list them all; else null
    hosts: await unpackJson("hosts"),
    patterns: await unpackJson("patterns"),
    thin: await unpackJson("thin"),
    patternPages: await column("pattern-pages", Uint32Array),
    canonical: await column("canonical", Int32Array),
    review: await column("review", Uint32Array),
    page: {
      host: await column("page-host", Uint32Array),
      verdict: await column("page-verdict", Uint8Array),
      cluster: await column("page-cluster", Int32Array),
      rank: await column("page-rank", Uint32Array),
      distance: await column("page-distance", Uint8Array),
      similarity: await column("page-similarity", Uint16Array),
      tokens: await column("page-tokens", Uint32Array),
      time: await column("page-time", Uint32Array),
    },
    pair: {
      first: await column("pair-first", Uint32Array),
      second: await column("pair-second", Uint32Array),
      distance: await column("pair-distance", Uint8Array),
      similarity: await column("pair-similarity", Uint16Array),
      kind: await column("pair-kind", Uint8Array),
    },
  };
  data.urls = await unpackStrings("urls", pages, strings);
  data.titles = await unpackStrings("titles", pages, strings);
  return data;
}

let textPlaces;
const textBlocks = new Map();

/** The main text of a page, or null if this file does not have it. */
async function textOf(page) {
  await parsed;
  if (!textPlaces) {
    const [pages, blocks, slots] = await Promise.all(
      ["page", "block", "slot"].map(async (name) => new Uint32Array(await unpack(`text-${name}`))));
    textPlaces = new Map();
    pages.forEach((number, i) => textPlaces.set(number, [blocks[i], slots[i]]));
  }
  if (!textPlaces.has(page)) return null;
  const [block, slot] = textPlaces.get(page);
  if (!textBlocks.has(block)) {
    if (textBlocks.size >= 8) textBlocks.delete(textBlocks.keys().next().value);
    textBlocks.set(block, await unpackJson(`texts-${block}`));
  }
  return textBlocks.get(block)[slot];
}
