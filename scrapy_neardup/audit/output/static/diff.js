// What two texts have in common: by sentences first, then by words where those differ.

/** More edits than this are not worked out: the stretch counts as rewritten. Bounds time and memory. */
const MOST_EDITS = 2500;

/**
 * The runs that two arrays of numbers share, as [start in a, start in b, length], in order; null if it takes too many
 * edits. Myers, "An O(ND) difference algorithm and its variations", Algorithmica 1986.
 */
function sharedRuns(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const n = a.length - head - tail, m = b.length - head - tail;
  const middle = n && m ? middleRuns(a.subarray(head, head + n), b.subarray(head, head + m)) : [];
  if (!middle) return null;
  return [[0, 0, head], ...middle.map(([i, j, k]) => [i + head, j + head, k]), [a.length - tail, b.length - tail, tail]]
    .filter(([, , length]) => length);
}

function middleRuns(a, b) {
  const n = a.length, m = b.length;
  const most = Math.min(n + m, MOST_EDITS);
  const far = new Int32Array(2 * most + 3); // furthest x on diagonal k, at k + most + 1
  const trace = [];
  for (let d = 0; d <= most; d++) {
    for (let k = -d; k <= d; k += 2) {
      const at = k + most + 1;
      let x = k === -d || (k !== d && far[at - 1] < far[at + 1]) ? far[at + 1] : far[at - 1] + 1;
      while (x < n && x - k < m && a[x] === b[x - k]) x++;
      far[at] = x;
      if (x >= n && x - k >= m) return backtrack(trace, d, n, m);
    }
    trace.push(far.slice(most + 1 - d, most + 2 + d));
  }
  return null;
}

function backtrack(trace, edits, x, y) {
  const runs = [];
  for (let d = edits; d > 0; d--) {
    const far = (k) => (Math.abs(k) < d ? trace[d - 1][k + d - 1] : -1);
    const k = x - y;
    const down = k === -d || (k !== d && far(k - 1) < far(k + 1));
    const fromX = far(down ? k + 1 : k - 1);
    const startX = down ? fromX : fromX + 1;
    if (x > startX) runs.push([startX, startX - k, x - startX]);
    x = fromX;
    y = down ? x - k - 1 : x - k + 1;
  }
  if (x > 0) runs.push([0, 0, x]);
  return runs.reverse();
}

/** Numbers for the strings of both, equal ones for equal strings. */
function numbered(a, b) {
  const numbers = new Map();
  const number = (text) => {
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  };
  return [Int32Array.from(a, number), Int32Array.from(b, number)];
}

/** Runs of a and b in order: {same, a: [start, end], b: [start, end]}. */
function alignment(a, b) {
  const runs = sharedRuns(...numbered(a, b)) ?? [];
  const parts = [];
  let i = 0, j = 0;
  for (const [x, y, length] of [...runs, [a.length, b.length, 0]]) {
    if (x > i || y > j) parts.push({ same: false, a: [i, x], b: [j, y] });
    if (length) parts.push({ same: true, a: [x, x + length], b: [y, y + length] });
    [i, j] = [x + length, y + length];
  }
  return parts;
}

/** Paragraphs, the long ones by sentences. */
function sentences(text) {
  return text
    .split(/\n+/)
    .flatMap((line) => (line.length < 300 ? [line] : line.split(/(?<=[.!?]["'”’)]?)\s+|(?<=[。！？])/u)))
    .map((line) => line.trim())
    .filter((line) => line);
}

/** Words, signs and the space between them; a word each of what is written without spaces. */
const words = (text) =>
  text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+|\s+|[^]/gu) ?? [];

const isWord = (word) => /[\p{L}\p{N}]/u.test(word);

/** Passages that share a smaller part of their words than this are another text, not an edited one. */
const LEAST_SHARED = 0.3;

const wordCount = (pieces) => pieces.filter(isWord).length;

/** Pieces of the two sides of a changed passage, {same, a, b}; space and signs alone do not part two changes. */
function wordPieces(left, right) {
  const [a, b] = [words(left), words(right)];
  const parts = alignment(a, b);
  const shared = parts.reduce((sum, part) => sum + (part.same ? wordCount(a.slice(...part.a)) : 0), 0);
  if (shared < LEAST_SHARED * Math.max(wordCount(a), wordCount(b))) return [{ same: false, a, b }];
  const pieces = [];
  parts.forEach((part, i) => {
    const piece = { same: part.same, a: a.slice(...part.a), b: b.slice(...part.b) };
    const last = pieces.at(-1);
    const trifle = part.same && i + 1 < parts.length && !piece.a.some((word) => isWord(word) || word.includes("\n"));
    if (last && !last.same && (trifle || !piece.same)) {
      last.a.push(...piece.a);
      last.b.push(...piece.b);
    } else pieces.push(piece);
  });
  return pieces;
}

/** Passages of two texts in order, {same: true, lines} or {same: false, pieces}; and how many words are where. */
function compareTexts(left, right) {
  const [a, b] = [sentences(left), sentences(right)];
  const counts = { same: 0, left: 0, right: 0 };
  const passages = alignment(a, b).map((part) => {
    if (part.same) {
      const lines = a.slice(...part.a);
      for (const line of lines) counts.same += wordCount(words(line));
      return { same: true, lines };
    }
    const pieces = wordPieces(a.slice(...part.a).join("\n"), b.slice(...part.b).join("\n"));
    for (const piece of pieces) {
      if (piece.same) counts.same += wordCount(piece.a);
      else {
        counts.left += wordCount(piece.a);
        counts.right += wordCount(piece.b);
      }
    }
    return { same: false, pieces };
  });
  return { passages, counts };
}
