// Elements of the attention explorer: thumbnails, the colours of each style, names, numbers and formulas.

import { button, el } from './kit/dom.js';
import { PALETTE, SEQUENTIAL_LUT, accentLut, rgb } from './kit/colour_ramp.js';
import { patchName, tokenIndex, tokenName } from './kit/text.js';

const EFFECTIVE = 'Effective tokens';

/** Format a share, with one decimal below 10 %. */
export const percent = (value) => `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;

export const weight = (value) => (value >= 0.01 ? value.toFixed(3) : value === 0 ? '0' : value.toExponential(1));

/** Return a token's name: '[CLS]', or its patch number with row and column. */
export function nameOf({ prefix, grid: [, cols] }, token) {
  return token < prefix.length ? tokenName(prefix[token]) : patchName(token - prefix.length, cols);
}

/** Return the inspector's lines [name, value] for a query's attention (row) or the attention it receives (column). */
export function linesOf(header, chosen, n, row) {
  const share = (value) => (row ? percent(value / (n.total || 1)) : weight(value));
  const prefix = header.prefix.map(tokenName).join(', ');
  const lines = [
    [!row ? 'Receives most from' : prefix ? 'Strongest patch' : 'Attends most to', nameOf(header, n.best)],
    ['weight', weight(chosen[n.best])],
  ];
  if (prefix) lines.push([`${row ? 'To' : 'From'} ${prefix}`, share(n.onPrefix)]);
  lines.push([row ? 'To itself' : 'From itself', share(n.self)]);
  const among = header.windowed ? header.slots : chosen.length;
  lines.push(
    row ? [EFFECTIVE, `${n.keys.toFixed(1)} of ${among}`] : ['Received in total', `${n.total.toFixed(2)} (uniform: 1)`],
  );
  return lines;
}

export function hintOf(name) {
  return name === EFFECTIVE ? 'Number of equally weighted tokens with the same entropy: 2^entropy' : '';
}

export function formulaOf(header, token, chosen, n, row) {
  const single = typeof header.head === 'number';
  const name = (t) => tokenIndex(header.prefix, t);
  const pair = row ? `${name(token)}, ${name(n.best)}` : `${name(n.best)}, ${name(token)}`;
  const softmax = `softmax(${header.scores})`;
  const source = single ? softmax : `${header.head} over heads of ${softmax}`;
  const sum = row ? `Σₖ A[${name(token)}, k]` : `Σ_q A[q, ${name(token)}]`;
  return `A[${pair}] = ${source} = ${weight(chosen[n.best])}\n${sum} = ${n.total.toFixed(2)}`;
}

export const THUMB_PX = 224; // 112 CSS px at a device pixel ratio of 2

/** Create a thumbnail with its label; a click shows it in the large view. */
export function thumbnail(parent, label, color, pick) {
  const node = button(parent, '', pick, { class: 'ax-thumb', title: label });
  const frame = el(node, 'span', { class: 'ax-frame' });
  const cells = el(frame, 'canvas', { class: 'ax-cells', 'aria-hidden': 'true' });
  const caption = el(node, 'span', { class: 'ax-label' }, label);
  if (color) caption.style.setProperty('--ax-head', color);
  return { button: node, node: cells };
}

/**
 * Return a style's colours: `shown`, the legend's table; and as 32-bit words `table` by level, `unseen` for patches
 * outside the window, `covered` for masked patches.
 */
export function colorWords(colors, style) {
  const dim = style === 'dim';
  const source = style === 'heat' ? SEQUENTIAL_LUT : accentLut(dim ? '#000000' : colors.query);
  const shown = new Uint8ClampedArray(source);
  if (dim) for (let i = 0; i < 256; i++) shown[4 * i + 3] = 255 - i; // 'dim' darkens patches of low weight
  const word = (bytes) => new Uint32Array(new Uint8ClampedArray(bytes).buffer)[0];
  const pale = [...rgb(PALETTE[colors.mode].paper), 150];
  return {
    shown,
    table: new Uint32Array(shown.slice().buffer),
    unseen: word(dim ? [0, 0, 0, 255] : style === 'heat' ? [...rgb(colors.panel), 255] : pale),
    covered: word([0, 0, 0, 255]),
  };
}
