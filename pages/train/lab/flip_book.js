// Assemble the flip-book from leaves that are sent once and cached; counterpart of vitviz/plots/flip_book.py.

// Leaves outlive the view, because a user may leave the page and return.
let shelf = { name: null, leaves: new Map() };

/** Cache a message's leaves. */
function cacheLeaves({ header, arrays }) {
  if (shelf.name !== header.shelf) shelf = { name: header.shelf, leaves: new Map() };
  let at = 0;
  for (const [number, words, size] of header.fresh) {
    shelf.leaves.set(number, { words, data: arrays.data.data.slice(at, at + size) });
    at += size;
  }
}

/** Concatenate the bytes of leaves. */
function concatenate(leaves) {
  const parts = leaves.map((leaf) => leaf.data);
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Combine an image's description with the captions, tiles and maxima of its frames. */
function describeFrames(described, frames) {
  const each = (name) => frames.map((leaf) => leaf.words[name]).filter((value) => value !== undefined);
  const tops = each('top');
  const hi = tops.length ? Math.max(...tops) || 1 : described.hi;
  const tiles = each('tiles');
  const base = `${described.name}_base`;
  return { ...described, hi, tops, base, captions: each('caption'), tiles: tiles.length ? tiles : null };
}

/** Return a message's complete book, {header, arrays} with all frames, or null if a leaf is missing. */
export function bound(message) {
  cacheLeaves(message);
  const { header, arrays } = message;
  const [count, wide] = arrays.pages.shape;
  const leaf = (number) => shelf.leaves.get(number);
  const rows = Array.from({ length: count }, (_, i) => {
    return Array.from(arrays.pages.data.subarray(i * wide, (i + 1) * wide), leaf);
  });
  const described = header.pictures.map(leaf);
  const bases = header.bases.map(leaf);
  if ([...described, ...bases, ...rows.flat()].includes(undefined)) return null;
  const joined = {};
  let column = 0;
  let base = 0;
  const images = described.map(({ words }) => {
    if (words.base) joined[`${words.name}_base`] = { data: bases[base++].data, shape: words.base };
    if (!words.shape) return describeFrames(words, []);
    column += 1;
    const frames = rows.map((row) => row[column]);
    joined[words.name] = { data: concatenate(frames), shape: [count, ...words.shape] };
    return describeFrames(words, frames);
  });
  return { header: { ...header, pictures: images, moments: rows.map(([words]) => words.words) }, arrays: joined };
}
