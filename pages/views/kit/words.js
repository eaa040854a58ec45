// Numbers as they are said beside a picture: the twin of vitviz/text.py, and what only views say.

const NBSP = '\u00a0';
const MINUS = '\u2212';

/** A share in words, such as '98.5 %' or '100 %'; the space before the sign does not break. */
export function percent(share, digits = 1) {
  const text = (100 * share).toFixed(digits);
  return `${Number(text) === 100 ? '100' : text}${NBSP}%`;
}

/** A number with a true minus sign, and none before zero. */
export function signed(value, digits = 2) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', MINUS);
}

/** Three significant digits for a number on an axis or in a label; thousands as k. */
export function brief(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10000) return `${Math.round(value / 100) / 10}k`;
  if (size >= 100) return `${Math.round(value)}`;
  if (size < 0.001) return value.toExponential(0);
  return `${Number(value.toPrecision(size >= 1 ? 3 : 2))}`;
}

/** A whole number with its thousands separated. */
export const counted = (value) => value.toLocaleString('en');

/** '1 pair', '2 pairs'. */
export const plural = (n, word) => `${counted(n)} ${word}${n === 1 ? '' : 's'}`;

const TOKEN_NAMES = { cls: '[CLS]', dist: '[DIST]' };

/** A prefix token as it is written. */
export const tokenName = (name) => TOKEN_NAMES[name] ?? `[${name.toUpperCase()}]`;

/** A patch by its number, row and column, all counted from 1. */
export function patchName(patch, cols) {
  return `patch ${patch + 1} (row ${Math.floor(patch / cols) + 1}, column ${(patch % cols) + 1})`;
}
