// The data of this file: JSON, as gzip in base64, unpacked when it is needed.

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
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Everything but the texts: `pages` are those that are listed, `clusters` name their pages by their places. */
async function unpackReport() {
  const data = { ...(await unpack("report")), pages: [], clusters: [] };
  const blocks = await unpack("page-blocks");
  for (let block = 0; block < blocks; block++) {
    for (const [url, title, verdict, distance, similarity, tokens, fetched, size, ...facts] of await unpack(`pages-${block}`)) {
      const page = data.pages.push({ url, title, verdict, distance, similarity, tokens, fetched }) - 1;
      if (size) {
        const [hosts, near, exact, least] = facts;
        data.clusters.push({ canonical: page, end: page, size, hosts, near, exact, least });
      }
      data.clusters.at(-1).end = page + 1;
    }
  }
  return data;
}

let textEnds;
const textBlocks = new Map();

/** The main text of a page that is listed, or null if this file does not have it. */
async function textOf(page) {
  await parsed;
  textEnds ??= await unpack("text-ends");
  const block = textEnds.findIndex((end) => page < end);
  if (block < 0) return null;
  if (!textBlocks.has(block)) {
    if (textBlocks.size >= 8) textBlocks.delete(textBlocks.keys().next().value);
    textBlocks.set(block, await unpack(`texts-${block}`));
  }
  return textBlocks.get(block)[page - (textEnds[block - 1] ?? 0)];
}
