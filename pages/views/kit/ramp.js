// Colours: ramps as tables of 256, the legend that shows one, the colour of a head, the theme of the page.

import { PALETTE } from './palette.js';
import { blit, heat } from './pixels.js';

/** [r, g, b] of '#rrggbb' or of 'rgb(r, g, b)'. */
export function rgb(color) {
  if (!color.startsWith('#')) return color.match(/\d+/g).slice(0, 3).map(Number);
  const n = parseInt(color.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** 256 colours (Uint8 r, g, b, a) along evenly spaced '#rrggbb' stops, as theme.py's `ramp`. */
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
export const DIVERGING_LUT = lut(PALETTE.DIVERGING);

/** Transparent to one colour: how attention lies over a greyed picture. */
export function accentLut(color) {
  const table = new Uint8ClampedArray(1024);
  const [r, g, b] = rgb(color);
  for (let i = 0; i < 256; i++) table.set([r, g, b, i], 4 * i);
  return table;
}

/** 'r, g, b' of a table at a share in [0, 1], for rgb() and rgba(). */
export function channelsAt(table, share) {
  const level = 4 * Math.round(255 * Math.max(0, Math.min(1, share)));
  return table.subarray(level, level + 3).join(', ');
}

/** The colour of one head: Okabe-Ito up to eight heads, beyond that one even ramp. */
export function headColor(head, heads) {
  if (heads <= PALETTE.HEADS.length) return PALETTE.HEADS[head];
  return `rgb(${channelsAt(SEQUENTIAL_LUT, head / (heads - 1))})`;
}

const RAMP = Uint8Array.from({ length: 256 }, (_, i) => i);

/** A table as a picture of 256 x 1, to be drawn as wide as a scale is. */
export const rampImage = (table) => heat(RAMP, 1, 256, table, 0, 255);

const ALIGNED = [
  ['left', 0],
  ['center', 0.5],
  ['right', 1],
];

/**
 * A scale that says what its colours mean: a bar with words at its left, middle and right end.
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

/** Streamlit's live theme and the project's accents of the same mode. */
export function theme(element) {
  const css = getComputedStyle(element);
  const read = (name, fallback) => css.getPropertyValue(name).trim() || fallback;
  const paper = read('--st-background-color', PALETTE.light.paper);
  const [r, g, b] = rgb(paper);
  const mode = 0.2126 * r + 0.7152 * g + 0.0722 * b < 110 ? 'dark' : 'light';
  return {
    mode,
    ...PALETTE[mode],
    paper,
    ink: read('--st-text-color', PALETTE[mode].ink),
    font: read('--st-font', 'sans-serif'),
    mono: read('--st-code-font', 'monospace'),
  };
}
