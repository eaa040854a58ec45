// Elements of the attention explorer: thumbnails, the colours of each style, names, numbers and formulas.

import { button, el } from './kit/dom.js';
import { PALETTE, SEQUENTIAL_LUT, accentLut, rgb } from './kit/colour_ramp.js';
import { patchName, tokenIndex, tokenName } from './kit/text.js';
import { threshold } from './explorer_weights.js';

export const DEFAULT_VIEW = {
  pin: null,
  direction: 'row',
  scale: 'shared',
  style: 'overlay',
  share: 0.6,
  opacity: 0.9,
  smooth: false,
  grey: false,
  grid: true,
};

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

/**
 * Draw a map on a canvas of one pixel per patch, which CSS scales.
 *   seen: marks the tokens of the query's window, or null
 */
export function fillCells(node, map, max, seen, { header, table, unseen, covered }, { style, share }) {
  const [rows, cols] = header.grid;
  const first = header.prefix.length;
  if (node.width !== cols || node.height !== rows) {
    node.width = cols;
    node.height = rows;
    node.ax = null;
  }
  node.ax ??= node.getContext('2d').createImageData(cols, rows);
  const words = new Uint32Array(node.ax.data.buffer);
  const span = max > 0 ? 255 / max : 0;
  const least = style === 'mask' ? threshold(map, first, share) : -1;
  for (let i = 0; i < words.length; i++) {
    const value = map[first + i];
    if (least >= 0) words[i] = value >= least && value > 0 ? 0 : covered;
    else words[i] = seen && !seen[first + i] ? unseen : table[Math.min(255, (value * span + 0.5) | 0)];
  }
  node.getContext('2d').putImageData(node.ax, 0, 0);
}

/** Call choose(index, done) for the thumbnails of a box that a pressed pointer passes; done where it is lifted. */
export function scrub(box, thumbs, choose) {
  let from = -1;
  let at = -1;
  const under = ({ clientX: x, clientY: y }) =>
    thumbs.findIndex(({ button: node }) => {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      return x >= left && x < right && y >= top && y < bottom;
    });
  box.style.touchAction = 'pan-y';
  box.onpointerdown = (event) => {
    from = at = event.button ? -1 : under(event);
  };
  box.onpointermove = (event) => {
    const next = from < 0 || !event.buttons ? -1 : under(event);
    if (next < 0 || next === at) return;
    at = next;
    choose(at, false);
  };
  box.onpointerup = box.onpointerleave = () => {
    if (from >= 0 && at !== from) choose(at, true);
    from = -1;
  };
}

const MOST_CLASSES = 3; // of the prediction beside the map

/** Say the most probable classes; '' for a model without classes. */
export function wordsOfClasses(predicted) {
  const names = predicted?.names.slice(0, MOST_CLASSES) ?? [];
  const classes = names.map((name, i) => `${name} (${percent(predicted.now[i])})`);
  return classes.length ? `Prediction: ${classes.join(', ')}` : '';
}
