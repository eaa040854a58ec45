// What the explorer's inspector says about one query: names, a table of numbers, the formula with them put in.

import { patchName, tokenName } from './kit/words.js';

/** A share, with a decimal below ten percent. */
export const percent = (value) => `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;

/** One weight. */
export const weight = (value) => (value >= 0.01 ? value.toFixed(3) : value === 0 ? '0' : value.toExponential(1));

/** A token of the sequence by its name, or by its patch's number and place. */
export function nameOf({ prefix, grid: [, cols] }, token) {
  return token < prefix.length ? tokenName(prefix[token]) : patchName(token - prefix.length, cols);
}

/** The inspector's lines [name, value] for what a query looks at (row) or who looks at it (column). */
export function linesOf(header, chosen, n, row) {
  const share = (value) => (row ? percent(value / (n.total || 1)) : weight(value));
  const prefix = header.prefix.map(tokenName).join(', ');
  const lines = [
    [!row ? 'Looked at most by' : prefix ? 'Strongest patch' : 'Looks most at', nameOf(header, n.best)],
    [row ? 'with weight' : 'its weight', weight(chosen[n.best])],
  ];
  if (prefix) lines.push([`${row ? 'On' : 'From'} ${prefix}`, share(n.onPrefix)]);
  lines.push([row ? 'On itself' : 'From itself', share(n.self)]);
  const among = header.windowed ? header.slots : chosen.length;
  lines.push(
    row
      ? ['Looks at about', `${n.keys.toFixed(1)} of ${among} tokens`]
      : ['Sum of all looks', `${n.total.toFixed(2)} (even: 1)`],
  );
  return lines;
}

/** What a line's name means, where it needs it. */
export function hintOf(name) {
  return name === 'Looks at about'
    ? '2 to the power of the entropy of these weights, in bits: ' +
        'so many keys with equal weights would have the same entropy'
    : '';
}

/** The weight's formula with its numbers. */
export function formulaOf(header, token, chosen, n, row) {
  const single = typeof header.head === 'number';
  const pair = row ? `${token}, ${n.best}` : `${n.best}, ${token}`;
  const softmax = `softmax(${header.scores})`;
  const made = single ? softmax : `${header.head} over heads of ${softmax}`;
  const sum = row ? `Σₖ A[${token}, k]` : `Σ_q A[q, ${token}]`;
  // A softmax sums to 1; what eight bits a weight sum to would only look like an error of the model.
  const exact = row && (single || header.head === 'mean');
  return `A[${pair}] = ${made} = ${weight(chosen[n.best])}\n${sum} = ${exact ? '1' : n.total.toFixed(2)}`;
}
