// Smooth training curves and search sorted values.

/** Return the bias-corrected exponential moving average; weight 0 returns the values unchanged. */
export function smoothed(values, weight) {
  if (!weight) return values;
  const out = new Float64Array(values.length);
  let mean = 0;
  let mass = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) {
      mean = weight * mean + (1 - weight) * values[i];
      mass = weight * mass + 1 - weight;
    }
    out[i] = mass ? mean / mass : NaN;
  }
  return out;
}

/** Return the index of the last entry <= x, at least 0. */
export function placeOf(xs, x) {
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (xs[mid] <= x) low = mid;
    else high = mid - 1;
  }
  return low;
}

/** Return the index of the entry nearest to x among sorted values. */
export function nearest(values, x) {
  const i = placeOf(values, x);
  return i + 1 < values.length && values[i + 1] - x < x - values[i] ? i + 1 : i;
}

/** Return the name of the line's run, or a reference line's own name. */
export const nameOf = (line, runs) => line.ghost || (runs.find((run) => run.id === line.run)?.name ?? '');
