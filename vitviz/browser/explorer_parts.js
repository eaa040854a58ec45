// Elements of the attention explorer: thumbnails and the colours of each style.

import { button, el } from './kit/dom.js';
import { PALETTE } from './kit/palette.js';
import { SEQUENTIAL_LUT, accentLut, rgb } from './kit/colour_ramp.js';

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
