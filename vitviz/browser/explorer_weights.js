// Decode attention weights (codes of 16 or 8 bits, or floats of the engine) and compute the maps and statistics of one query.

/** Return the weight of a code of `quantise_rows` in a row with this largest weight. */
export const weightOf = (code, max) => (code / 65535) ** 2 * max;

/** Return the function that reads a stored value in a row with this largest weight. */
function decoder(codes) {
  if (codes instanceof Float32Array) return (value) => value;
  return codes instanceof Uint8Array ? (code, max) => (code / 255) ** 2 * max : weightOf;
}

/** Read a query's weights from a full matrix: the query's row, or the key's column. */
function readFull({ codes, maxima, tokens, slots, decode }, base, token, direction, out) {
  if (direction === 'row') {
    const from = (base + token) * slots;
    const max = maxima?.[base + token];
    for (let k = 0; k < tokens; k++) out[k] = decode(codes[from + k], max);
  } else for (let q = 0; q < tokens; q++) out[q] = decode(codes[(base + q) * slots + token], maxima?.[base + q]);
}

/** Read a query's weights in its window, and mark the window's tokens in `seen`. */
function readWindow({ codes, maxima, tokens, slots, windows, decode }, map, token, direction, out, seen) {
  const block = windows.shared ? 0 : map;
  const base = map * tokens;
  const window = windows.of[block * tokens + token];
  const slot = windows.slotOf[block * tokens + token];
  for (let s = 0; s < slots; s++) {
    const other = windows.slots[block * windows.perBlock + window * slots + s];
    if (other < 0) continue;
    if (seen) seen[other] = 1;
    out[other] =
      direction === 'row'
        ? decode(codes[(base + token) * slots + s], maxima[base + token])
        : decode(codes[(base + other) * slots + slot], maxima[base + other]);
  }
}

/**
 * Create a stack of maps from arrays {codes (n, tokens, slots), max if they are no floats, and for windows slots, window_of, slot_of}:
 * {count, read(map, token, direction, out, seen)} fills `out` with the weights of one query (row) or onto one key
 * (column), over all tokens; `seen` marks those that share its window.
 */
export function stack(arrays, tokens, prefix = '') {
  const codes = arrays[`${prefix}codes`];
  const slots = arrays[`${prefix}slots`];
  const windows = slots && {
    slots: slots.data,
    of: arrays[`${prefix}window_of`].data,
    slotOf: arrays[`${prefix}slot_of`].data,
    perBlock: slots.data.length / slots.shape[0],
    shared: slots.shape[0] === 1,
  };
  const decode = decoder(codes.data);
  const maxima = arrays[`${prefix}max`]?.data;
  const self = { codes: codes.data, maxima, tokens, slots: codes.shape[2], windows, decode };
  function read(map, token, direction, out, seen) {
    out.fill(0);
    seen?.fill(windows ? 0 : 1);
    if (windows) readWindow(self, map, token, direction, out, seen);
    else readFull(self, map * tokens, token, direction, out);
    return out;
  }
  return { count: codes.shape[0], read };
}

/** Create a stack of one head, or of the fused heads, in several layers, whose stacks are given. */
export function stripOf(stacks, head, tokens) {
  if (typeof head === 'number')
    return {
      count: stacks.length,
      read: (l, ...query) => stacks[l].read(Math.min(head, stacks[l].count) - 1, ...query),
    };
  const maps = Array.from({ length: Math.max(...stacks.map(({ count }) => count)) }, () => new Float32Array(tokens));
  function read(l, token, direction, out) {
    const own = maps.slice(0, stacks[l].count);
    own.forEach((map, h) => stacks[l].read(h, token, direction, map, null));
    return fuse(own, head, out);
  }
  return { count: stacks.length, read };
}

export function fuse(maps, how, out) {
  out.fill(how === 'min' ? Infinity : 0);
  const join = {
    mean: (a, b) => a + b / maps.length,
    max: Math.max,
    min: Math.min,
  }[how];
  for (const map of maps) for (let k = 0; k < out.length; k++) out[k] = join(out[k], map[k]);
  return out;
}

/** Return the largest weight on a patch, ignoring prefix tokens. */
export function highest(map, first) {
  let max = 0;
  for (let i = first; i < map.length; i++) if (map[i] > max) max = map[i];
  return max;
}

/** Return the smallest weight among the strongest patches that hold `share` of the total weight. */
export function threshold(map, first, share) {
  const ranked = map.slice(first).sort().reverse();
  const enough = ranked.reduce((sum, value) => sum + value, 0) * share * (1 - 1e-6);
  let sum = 0;
  for (const value of ranked) {
    sum += value;
    if (sum >= enough) return value;
  }
  return 0;
}

/** Compute a query's statistics: strongest key, sum, weight on prefix tokens and on itself, and 2 ** entropy. */
export function numbers(chosen, token, first, row) {
  let best = -1;
  let total = 0;
  let entropy = 0;
  let onPrefix = 0;
  chosen.forEach((a, k) => {
    total += a;
    if (k < first) onPrefix += a;
    // A row's strongest key is a patch, because prefix tokens have their own line; a column's may be any token.
    if ((k >= first || !row) && (best < 0 || a > chosen[best])) best = k;
  });
  chosen.forEach((a) => {
    if (a > 0) entropy -= (a / total) * Math.log2(a / total);
  });
  return { best, total, onPrefix, keys: 2 ** entropy, self: chosen[token] };
}
