// Numbers of the patches' stage as they are written.

/** A number; in powers of ten where it would be 0.000. */
export const number = (v, digits = 3) =>
  (v && Math.abs(v) < 0.5 / 10 ** digits ? v.toExponential(1) : v.toFixed(digits)).replaceAll('-', '−');

/** A factor of a product, in brackets where it is negative. */
export const factor = (v) => (v < 0 ? `(${number(v)})` : number(v));

/** The largest absolute value, 1 where all are 0. */
export const peak = (values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;
