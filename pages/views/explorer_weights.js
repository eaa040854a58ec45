// Attention as it travels, eight bits a weight, and what is read from it for one query.

const SQUARES = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);

/** Where a query's weights stand in a full matrix: row of the query, or column of the key. */
function readFull({ codes, maxima, tokens, slots }, base, token, direction, out) {
  if (direction === 'row') {
    const from = (base + token) * slots;
    const max = maxima[base + token];
    for (let k = 0; k < tokens; k++) out[k] = SQUARES[codes[from + k]] * max;
  } else for (let q = 0; q < tokens; q++) out[q] = SQUARES[codes[(base + q) * slots + token]] * maxima[base + q];
}

/** The same within the token's window, whose tokens it marks in `seen`. */
function readWindow({ codes, maxima, tokens, slots, windows }, map, token, direction, out, seen) {
  const block = windows.shared ? 0 : map;
  const base = map * tokens;
  const window = windows.of[block * tokens + token];
  const mine = windows.slotOf[block * tokens + token];
  for (let s = 0; s < slots; s++) {
    const other = windows.slots[block * windows.perBlock + window * slots + s];
    if (other < 0) continue;
    if (seen) seen[other] = 1;
    out[other] =
      direction === 'row'
        ? SQUARES[codes[(base + token) * slots + s]] * maxima[base + token]
        : SQUARES[codes[(base + other) * slots + mine]] * maxima[base + other];
  }
}

/**
 * A stack of maps from arrays {codes (n, tokens, slots), max, and for windows slots, window_of, slot_of}:
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
  const self = { codes: codes.data, maxima: arrays[`${prefix}max`].data, tokens, slots: codes.shape[2], windows };
  function read(map, token, direction, out, seen) {
    out.fill(0);
    seen?.fill(windows ? 0 : 1);
    if (windows) readWindow(self, map, token, direction, out, seen);
    else readFull(self, map * tokens, token, direction, out);
    return out;
  }
  return { count: codes.shape[0], read };
}

/** One map of several: their mean, maximum or minimum, token by token. */
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

/** The largest weight on a patch; prefix tokens, the first of the sequence, do not count. */
export function highest(map, first) {
  let max = 0;
  for (let i = first; i < map.length; i++) if (map[i] > max) max = map[i];
  return max;
}

/** The weight below which a patch is left out when the strongest hold `share` of the patches' mass (as kept_by_mass). */
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

/** Of one query's weights: the strongest key, their sum, what lies on prefix tokens, on itself, and 2 ** entropy. */
export function numbers(chosen, token, first, row) {
  let best = -1;
  let total = 0;
  let entropy = 0;
  let onPrefix = 0;
  chosen.forEach((a, k) => {
    total += a;
    if (k < first) onPrefix += a;
    // Of a row the patches are compared, prefix tokens have a line of their own; a column's strongest may be any.
    if ((k >= first || !row) && (best < 0 || a > chosen[best])) best = k;
  });
  chosen.forEach((a) => {
    if (a > 0) entropy -= (a / total) * Math.log2(a / total);
  });
  return { best, total, onPrefix, keys: 2 ** entropy, self: chosen[token] };
}
