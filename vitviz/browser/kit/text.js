// Format numbers and names, as vitviz/text.py does.

export const NBSP = '\u00a0';
export const MINUS = '\u2212';

/** Format a share as '98.5 %' or '100 %', with a no-break space. */
export function percent(share, digits = 1) {
  const text = (100 * Number(share.toPrecision(7))).toFixed(digits); // 0.8315 as float32 is not 0.83149999
  return `${Number(text) === 100 ? '100' : text}${NBSP}%`;
}

/** Format a number with a true minus sign, and none before zero. */
export function signed(value, digits = 2) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', MINUS);
}

/** Format a number with three significant digits; thousands as k. */
export function brief(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10000) return `${Math.round(value / 100) / 10}k`;
  if (size >= 100) return `${Math.round(value)}`;
  if (size < 0.001) return value.toExponential(0);
  return `${Number(value.toPrecision(size >= 1 ? 3 : 2))}`;
}

export const counted = (value) => value.toLocaleString('en');

/** Return '1 pair', '2 pairs'. */
export const plural = (n, word) => `${counted(n)} ${word}${n === 1 ? '' : 's'}`;

const TOKEN_NAMES = { cls: '[CLS]', dist: '[DIST]' };

/** Return the written form of a prefix token: '[CLS]'. */
export const tokenName = (name) => TOKEN_NAMES[name] ?? `[${name.toUpperCase()}]`;

/** Return a token's index in a formula: 'CLS', or the number of a patch or word, from 1. */
export const tokenIndex = (prefix, token) =>
  token < prefix.length ? prefix[token].toUpperCase() : token - prefix.length + 1;

/** Return 'row 3, column 5', counted from 1. */
export const nameCell = (cell, cols) => `row ${Math.floor(cell / cols) + 1}, column ${(cell % cols) + 1}`;

/** Return a patch's number, row and column, all 1-based. */
export const patchName = (patch, cols) => `patch ${patch + 1} (${nameCell(patch, cols)})`;
