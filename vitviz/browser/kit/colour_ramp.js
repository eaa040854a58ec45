// Colours: ramps of 256 entries, legends, head colours and the page's theme.

import { blit, heat } from './pixels.js';

/** The colour roles of vitviz/plots/theme.py, for canvases; tests/browser/test_kit.py compares both. */
export const PALETTE = {
  SEQUENTIAL: ['#440154', '#46327e', '#365c8d', '#277f8e', '#1fa187', '#4ac16d', '#a0da39', '#fde725'],
  DIVERGING: {
    light: ['#1B4F8F', '#5B93C7', '#B7D3E8', '#FBFAF7', '#F6CFA1', '#E0913A', '#A6540B'],
    dark: ['#B7D8F5', '#5B9BD9', '#2A527D', '#10151C', '#6E4013', '#D08232', '#FBCB8F'],
  },
  HEADS: ['#56B4E9', '#009E73', '#CC79A7', '#0072B2', '#9B5DE5', '#B8A800', '#7F7F7F'],
  VARIANTS: ['#7F7F7F', '#56B4E9', '#009E73', '#CC79A7', '#0072B2', '#9B5DE5', '#B8A800', '#B23A6B'],
  FAMILIES: { cnn: '#7F7F7F', hybrid: '#56B4E9', swin: '#009E73', vit: '#0072B2', deit: '#CC79A7' },
  light: {
    paper: '#FBFAF7',
    panel: '#F1EFEA',
    ink: '#0F151C',
    muted: '#4F5A68',
    line: '#DAD7D0',
    primary: '#2457A6',
    query: '#D9480F',
  },
  dark: {
    paper: '#10151C',
    panel: '#19212B',
    ink: '#E7EBF1',
    muted: '#9DA9B8',
    line: '#2C3643',
    primary: '#6EA3F0',
    query: '#FF922B',
  },
};

/** Return [r, g, b] of '#rrggbb' or 'rgb(r, g, b)'. */
export function rgb(color) {
  if (!color.startsWith('#')) return color.match(/\d+/g).slice(0, 3).map(Number);
  const n = parseInt(color.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** Return 256 colours (Uint8 r, g, b, a) between evenly spaced '#rrggbb' stops, as theme.py's `ramp`. */
export function lut(stops) {
  const table = new Uint8ClampedArray(1024);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const a = rgb(stops[low]);
    const b = rgb(stops[low + 1]);
    for (let c = 0; c < 3; c++) table[4 * i + c] = Math.round(a[c] + (b[c] - a[c]) * (place - low));
    table[4 * i + 3] = 255;
  }
  return table;
}

export const SEQUENTIAL_LUT = lut(PALETTE.SEQUENTIAL);
const DIVERGING_LUTS = { light: lut(PALETTE.DIVERGING.light), dark: lut(PALETTE.DIVERGING.dark) };
export let DIVERGING_LUT = DIVERGING_LUTS.light; // of the page's theme: `theme` sets it before a view draws

/** Return the ink, dark or white, that is read better on a table's colour at a share in [0, 1]. */
export function inkOn(table, share) {
  const level = 4 * Math.round(255 * Math.max(0, Math.min(1, share)));
  return 0.299 * table[level] + 0.587 * table[level + 1] + 0.114 * table[level + 2] > 128 ? '#0F151C' : '#FFFFFF';
}

/** Return the table from transparent to one colour, for attention over a grey image. */
export function accentLut(color) {
  const table = new Uint8ClampedArray(1024);
  const [r, g, b] = rgb(color);
  for (let i = 0; i < 256; i++) table.set([r, g, b, i], 4 * i);
  return table;
}

/** Return the diverging ramp, opaque at its ends and clear in the middle, for signed values over an image. */
export function veil(most = 255) {
  const table = DIVERGING_LUT.slice();
  for (let i = 0; i < 256; i++)
    table[4 * i + 3] = Math.round(most * Math.min(1, 0.06 + (Math.abs(i - 127.5) / 127.5) ** 1.2));
  return table;
}

/** Return 'r, g, b' of a table at a share in [0, 1], for rgb() and rgba(). */
export function channelsAt(table, share) {
  const level = 4 * Math.round(255 * Math.max(0, Math.min(1, share)));
  return table.subarray(level, level + 3).join(', ');
}

/** Return the colour of a head: Okabe-Ito up to seven heads, otherwise an even ramp. */
export function headColor(head, heads) {
  if (heads <= PALETTE.HEADS.length) return PALETTE.HEADS[head];
  return `rgb(${channelsAt(SEQUENTIAL_LUT, head / (heads - 1))})`;
}

/** Return the largest absolute value, above 0: the end of a diverging scale. */
export function greatest(values) {
  let most = 1e-12;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

const RAMP = Uint8Array.from({ length: 256 }, (_, i) => i);

const rampImages = new WeakMap();

/** Return a table as an image of one row, created once. */
export function rampImage(table) {
  if (!rampImages.has(table)) rampImages.set(table, heat(RAMP, 1, 256, table, 0, 255));
  return rampImages.get(table);
}

const ALIGNED = [
  ['left', 0],
  ['center', 0.5],
  ['right', 1],
];

/**
 * Create a colour legend: a bar with labels at its left, middle and right.
 *   options: {table, width, words: [left, middle, right], colors, label (for a screen reader), left = 0 (px kept free)}
 */
export function legend(view, { table, width, words, colors, label, left = 0 }) {
  const ctx = view.size(width, 34);
  blit(ctx, rampImage(table), left, 0, width - left, 10, true);
  ctx.font = `12px ${colors.font}`;
  ctx.fillStyle = colors.muted;
  ctx.textBaseline = 'top';
  ALIGNED.forEach(([align, share], i) => {
    ctx.textAlign = align;
    if (words[i]) ctx.fillText(words[i], left + share * (width - left), 16);
  });
  view.node.setAttribute('role', 'img');
  view.node.setAttribute('aria-label', label);
}

/** Return Streamlit's current theme with the project's accent colours. */
export function theme(element) {
  const css = getComputedStyle(element);
  const read = (name, fallback) => css.getPropertyValue(name).trim() || fallback;
  const paper = read('--st-background-color', PALETTE.light.paper);
  const [r, g, b] = rgb(paper);
  const mode = 0.2126 * r + 0.7152 * g + 0.0722 * b < 110 ? 'dark' : 'light';
  DIVERGING_LUT = DIVERGING_LUTS[mode];
  return {
    mode,
    ...PALETTE[mode],
    paper,
    ink: read('--st-text-color', PALETTE[mode].ink),
    font: read('--st-font', 'sans-serif'),
    mono: read('--st-code-font', 'monospace'),
  };
}
