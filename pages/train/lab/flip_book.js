// The flip-book as it travels: its leaves arrive once and are kept; the twin of vitviz/plots/run_history.py.

// One page shows one timeline: leaves outlive the view, which a visitor may leave and find again.
let shelf = { name: null, leaves: new Map() };

/** Puts a message's leaves on the shelf. */
function keep({ header, arrays }) {
  if (shelf.name !== header.shelf) shelf = { name: header.shelf, leaves: new Map() };
  let at = 0;
  for (const [number, words, size] of header.fresh) {
    shelf.leaves.set(number, { words, data: arrays.data.data.slice(at, at + size) });
    at += size;
  }
}

/** Bytes of leaves, one after the other. */
function joined(leaves) {
  const parts = leaves.map((leaf) => leaf.data);
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** One picture with what its frames say: a list of captions, of tiles and of tops. */
function told(described, frames) {
  const each = (name) => frames.map((leaf) => leaf.words[name]).filter((value) => value !== undefined);
  const tops = each('top');
  const hi = tops.length ? Math.max(...tops) || 1 : described.hi;
  const tiles = each('tiles');
  const base = `${described.name}_base`;
  return { ...described, hi, tops, base, captions: each('caption'), tiles: tiles.length ? tiles : null };
}

/** The whole book of a message: {header, arrays} with all frames; null where a leaf is missing, so ask for all. */
export function bound(message) {
  keep(message);
  const { header, arrays } = message;
  const [count, wide] = arrays.pages.shape;
  const leaf = (number) => shelf.leaves.get(number);
  const rows = Array.from({ length: count }, (_, i) => {
    return Array.from(arrays.pages.data.subarray(i * wide, (i + 1) * wide), leaf);
  });
  const described = header.pictures.map(leaf);
  const bases = header.bases.map(leaf);
  if ([...described, ...bases, ...rows.flat()].includes(undefined)) return null;
  const whole = {};
  let column = 0;
  let base = 0;
  const pictures = described.map(({ words }) => {
    if (words.base) whole[`${words.name}_base`] = { data: bases[base++].data, shape: words.base };
    if (!words.shape) return told(words, []);
    column += 1;
    const frames = rows.map((row) => row[column]);
    whole[words.name] = { data: joined(frames), shape: [count, ...words.shape] };
    return told(words, frames);
  });
  return { header: { ...header, pictures, moments: rows.map(([words]) => words.words) }, arrays: whole };
}
