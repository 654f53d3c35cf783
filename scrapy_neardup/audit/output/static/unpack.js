// The data of this file: JSON, as gzip in base64, unpacked when it is needed.

const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

async function unpack(name) {
  const bytes = Uint8Array.from(atob(byId(`data-${name}`).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** The clusters with those of their pages that are listed, the canonical page first. */
async function unpackClusters() {
  const clusters = [];
  const blocks = await unpack("page-blocks");
  let place = 0;
  for (let block = 0; block < blocks; block++) {
    for (const [url, title, verdict, distance, similarity, tokens, fetched, ...facts] of await unpack(`pages-${block}`)) {
      if (facts.length) clusters.push({ size: facts[0], near: facts[1], exact: facts[2], parts: facts[3], hosts: facts[4], pages: [] });
      clusters.at(-1).pages.push({ place: place++, url, title, verdict, distance, similarity, tokens, fetched });
    }
  }
  return clusters;
}

let textEnds;

/** The main text of a page, or null if this file does not have it. */
async function textOf({ place }) {
  await parsed;
  textEnds ??= await unpack("text-ends");
  const block = textEnds.findIndex((end) => place < end);
  return block < 0 ? null : (await unpack(`texts-${block}`))[place - (textEnds[block - 1] ?? 0)];
}
