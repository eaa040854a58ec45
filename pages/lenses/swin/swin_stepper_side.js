// Draw the keys of a patch in both blocks, the matrix of its window, and the matrices of all windows.

import { fill, frame } from '../../../vitviz/browser/kit/axes.js';
import { el } from '../../../vitviz/browser/kit/dom.js';
import { blit, offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { counted, plural } from '../../../vitviz/browser/kit/text.js';
import { describeKeys } from './swin_stepper_stages.js';
import { hatch } from './swin_stepper_patches.js';

export function drawMini(view, { kind, head, map: mini, note }) {
  const { rows, cols, shift } = view.H();
  const width = view.tile.mini;
  const step = width / cols;
  const ctx = mini.size(width, step * rows);
  const keys = view.keysByPatch(kind);
  ctx.globalAlpha = 0.9;
  blit(ctx, view.tile.image, 0, 0, width, step * rows, view.tile.image.width > width);
  ctx.globalAlpha = 1;
  for (let p = 0; p < view.count(); p++) drawMiniPatch(view, ctx, p, keys.get(p), kind === 'shifted', step);
  const patch = view.active();
  frame(ctx, (patch % cols) * step, Math.floor(patch / cols) * step, step, step);
  head.textContent = kind === 'shifted' ? `Windows shifted by ${shift}` : 'Regular windows';
  note.textContent = describeKeys([...keys.values()], kind === 'shifted', view.leaking);
  mini.node.setAttribute('role', 'img');
  mini.node.setAttribute('aria-label', `${head.textContent}: patch ${patch + 1} ${note.textContent}`);
}

function drawMiniPatch(view, ctx, p, key, isShift, step) {
  const { cols } = view.H();
  const { colors, arrays } = view.now;
  const x = (p % cols) * step;
  const y = Math.floor(p / cols) * step;
  const veil = (color, alpha) => fill(ctx, color, x, y, step, step, alpha);
  if (!key) {
    const share = view.leaking && isShift && view.hover < 0 ? arrays.leak.data[p] : 0;
    veil(colors.paper, 0.66);
    if (share > 0) veil(colors.primary, Math.min(0.8, share));
  } else if (key.allowed || (view.leaking && isShift)) veil(key.allowed ? colors.query : colors.primary, 0.35);
  else hatch(view, ctx, x, y, step, true);
}

/** Return colour and opacity of one (query, key) cell: masked, allowed, or an attention weight. */
function cellStyle(view, w, q, k) {
  const n = view.cells();
  const i = (w * n + q) * n + k;
  const colors = view.tile.rgb;
  const allowed = !view.isShifted() || view.now.arrays.allowed.data[i] === 1;
  if (view.attending()) {
    const weight = (view.leaking ? view.now.arrays.unmasked : view.now.arrays.attn).data[i];
    return [allowed ? colors.query : colors.primary, Math.min(1, Math.sqrt(weight))];
  }
  if (allowed) return [colors.query, 0.3];
  return view.leaking ? [colors.primary, 0.5] : [colors.ink, 0.72];
}

/** Return a window's matrix as an image, cached per mode. */
function cellImage(view, w) {
  const mode = `${w} ${view.isShifted()} ${view.attending()} ${view.leaking}`;
  if (view.matrices.has(mode)) return view.matrices.get(mode);
  const n = view.cells();
  const image = new ImageData(n, n);
  for (let q = 0; q < n; q++)
    for (let k = 0; k < n; k++) {
      const [color, alpha] = cellStyle(view, w, q, k);
      image.data.set([...color, Math.round(255 * alpha)], 4 * (q * n + k));
    }
  const node = offscreen(image);
  view.matrices.set(mode, node);
  return node;
}

function drawCells(view, ctx, w, x, y, width, rowLit) {
  const step = width / view.cells();
  fill(ctx, view.now.colors.panel, x, y, width, width);
  blit(ctx, cellImage(view, w), x, y, width, width);
  if (rowLit >= 0) frame(ctx, x, y + rowLit * step, width, step, undefined, 2);
}

export function drawMatrix(view) {
  const { w, q } = view.home();
  const width = view.tile.matrix;
  const n = view.cells();
  drawCells(view, view.matrix.size(width, width), w, 0, 0, width, q);
  view.matrixHead.textContent = `Window ${w + 1}: ${view.attending() ? 'attention' : 'allowed pairs'}`;
  view.matrixNote.textContent = [
    'row: query, column: key',
    !view.isShifted()
      ? ''
      : view.masked(w)
        ? `${counted(view.masked(w))} of ${counted(n * n)} pairs masked`
        : 'nothing to mask: no wrapped patches',
  ].join('\n');
  const label = `${view.matrixHead.textContent}: ${view.matrixNote.textContent.replaceAll('\n', '; ')}`;
  view.matrix.node.setAttribute('aria-label', label);
  view.key.replaceChildren();
  const entries = view.attending()
    ? [['query', 'weight'], ...(view.leaking ? [['leak', 'weight across the edge']] : [])]
    : [
        ['query', 'allowed'],
        ...(view.isShifted() ? [view.leaking ? ['leak', 'across the edge'] : ['masked', 'masked']] : []),
      ];
  for (const [kind, text] of entries) {
    const item = el(view.key, 'span', { class: 'sw-item' });
    el(item, 'i', { class: `sw-swatch sw-${kind}` });
    el(item, 'span', {}, text);
  }
}

export function drawAllWindows(view) {
  const g = view.allGeometry();
  const ctx = view.all.size(g.across * (g.width + g.gap) - g.gap, g.down * (g.width + g.gap) - g.gap);
  const { w } = view.home();
  let touched = 0;
  let pairs = 0;
  for (let i = 0; i < g.total; i++) {
    const x = (i % g.across) * (g.width + g.gap);
    const y = Math.floor(i / g.across) * (g.width + g.gap);
    touched += view.masked(i) > 0;
    pairs += view.masked(i);
    drawCells(view, ctx, i, x, y, g.width, -1);
    if (i === w) frame(ctx, x, y, g.width, g.width, undefined, 2);
  }
  const every = g.total * view.cells() ** 2;
  view.allHead.textContent = !view.isShifted()
    ? `Regular block: ${plural(g.total, 'window')}, no mask (query × key)`
    : view.attending()
      ? `Attention in ${plural(g.total, 'window')} (query × key), ${view.leaking ? 'without the mask' : 'masked'}`
      : `Mask per window (query × key): ${plural(pairs, 'pair')} of ${counted(every)} masked, in ${touched} of ${plural(g.total, 'window')}`;
}
