// Draw all patches at their positions between two stages of the stepper; the keys of a patch in both blocks; and the
// matrices of its window and of all windows.

import { fill, frame, clipped, line, outline } from '../../../vitviz/browser/kit/axes.js';
import { el, canvas } from '../../../vitviz/browser/kit/dom.js';
import { blit, offscreen, picture } from '../../../vitviz/browser/kit/pixels.js';
import { counted, plural } from '../../../vitviz/browser/kit/text.js';
import { PALETTE } from '../../../vitviz/browser/kit/colour_ramp.js';
import { describeKeys, LAST, pose } from './swin_stepper_stages.js';

/** Draw white text with a dark outline, readable on any image. */
function write(ctx, font, text, x, y, align, base) {
  ctx.font = font;
  ctx.textAlign = align;
  ctx.textBaseline = base;
  ctx.lineWidth = 2.5;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = 'rgba(0,0,0,0.75)';
  ctx.fillStyle = '#fff';
  ctx.strokeText(text, x, y);
  ctx.fillText(text, x, y);
}

/** Render numbered patches plain and tinted by region; animation frames copy from these layers. */
export function paint(view) {
  const { rows, cols } = view.header;
  const step = view.tile.step;
  const image = picture(view.now.arrays.shown);
  [view.sheet, view.tinted] = [0, 1].map(() => {
    const layer = canvas(null);
    layer.size(cols * step, rows * step);
    blit(layer.ctx, image, 0, 0, cols * step, rows * step, image.width > cols * step);
    return layer;
  });
  for (let p = 0; p < view.count; p++) paintPatch(view, p, (p % cols) * step, Math.floor(p / cols) * step);
}

function paintPatch(view, p, x, y) {
  const { ctx } = view.tinted;
  const step = view.tile.step;
  const id = view.regionOf(p);
  if (id) fill(ctx, PALETTE.VARIANTS[id - 1], x, y, step, step, 0.62);
  const px = Math.max(12, Math.min(15, step * 0.32));
  const font = (size) => `600 ${size}px ${view.now.colors.font}`;
  if (step >= 17)
    for (const layer of [view.sheet, view.tinted]) write(layer.ctx, font(px), `${p + 1}`, x + 3, y + 2, 'left', 'top');
  if (step >= 24) write(ctx, font(Math.min(px, 12)), `id ${id}`, x + step - 3, y + step - 3, 'right', 'bottom');
  else write(ctx, font(px), `${id}`, x + step - 2, y + step - 1, 'right', 'bottom');
}

export function drawStage(view) {
  const at = pose(view.at);
  const { rows, cols } = view.header;
  const step = view.tile.step;
  const ctx = view.map.size(view.side, view.tile.height);
  const keys = view.keysByPatch(view.isShifted() ? 'shifted' : 'regular');
  const closed = at.gap < 0.02;
  const first = view.corner(0, { gap: at.gap, roll: 0 });
  const box = closed ? [first.x0, first.y0, cols * step, rows * step] : [0, 0, view.side, view.tile.height];
  clipped(ctx, box, () => {
    for (let p = 0; p < view.count; p++) {
      const { x, y, c, r } = view.corner(p, at);
      // A patch that crosses an edge is drawn at both edges.
      const xs = closed && c > cols - 1 + 1e-6 ? [x, x - cols * step] : [x];
      const ys = closed && r > rows - 1 + 1e-6 ? [y, y - rows * step] : [y];
      for (const left of xs) for (const top of ys) drawPatch(view, ctx, p, left, top, at, keys);
    }
  });
  if (closed) drawWindows(view, ctx, first);
  const query = view.corner(view.active(), at);
  frame(ctx, query.x, query.y, step, step, undefined, 3);
  view.frames += 1;
  view.root.dataset.frames = String(view.frames);
}

/** Draw windows as thin frames while there are no gaps between them. */
function drawWindows(view, ctx, { x0, y0 }) {
  const { rows, cols, window: M } = view.header;
  const wide = M * view.tile.step;
  if (Math.abs(view.at - view.stage()) >= 0.01 || view.stage() === 0 || view.stage() === LAST) return;
  for (let r = 0; r < rows / M; r++)
    for (let c = 0; c < cols / M; c++) outline(ctx, view.now.colors.ink, 1.5, x0 + c * wide, y0 + r * wide, wide, wide);
}

function drawPatch(view, ctx, p, x, y, { tint }, keys) {
  const { cols } = view.header;
  const step = view.tile.step;
  const s = (step * view.sheet.node.width) / view.sheet.width;
  const [sx, sy] = [(p % cols) * s, Math.floor(p / cols) * s];
  ctx.drawImage(view.sheet.node, sx, sy, s, s, x, y, step, step);
  if (tint > 0.01) {
    ctx.globalAlpha = tint;
    ctx.drawImage(view.tinted.node, sx, sy, s, s, x, y, step, step);
    ctx.globalAlpha = 1;
  }
  overlay(view, ctx, p, x, y, step, keys, view.hover >= 0, view.isShifted());
  outline(ctx, 'rgba(255,255,255,0.45)', 0.75, x, y, step, step);
}

/** Mark a patch as allowed key, masked key, or outside the query's window. */
function overlay(view, ctx, p, x, y, step, keys, strong, shiftedBlock) {
  const key = keys.get(p);
  const { colors } = view.now;
  const attending = shiftedBlock && view.attending();
  if (!key) {
    if (strong) fill(ctx, colors.paper, x, y, step, step, 0.74);
  } else if (key.allowed || (view.leaking && shiftedBlock)) {
    const leaks = !key.allowed;
    const weight = leaks || view.leaking ? key.unmasked : key.weight;
    const color = leaks ? colors.primary : colors.query;
    const alpha = attending ? Math.min(0.85, Math.sqrt(weight) * 1.4) : strong ? 0.28 : 0.16;
    fill(ctx, color, x, y, step, step, alpha);
    outline(ctx, color, 2, x + 1, y + 1, step - 2, step - 2);
  } else hatch(view, ctx, x, y, step, strong);
}

function hatch(view, ctx, x, y, step, strong) {
  const { paper, ink } = view.now.colors;
  fill(ctx, paper, x, y, step, step, strong ? 0.55 : 0.3);
  clipped(ctx, [x, y, step, step], () => {
    ctx.globalAlpha = strong ? 0.95 : 0.7;
    for (let d = -step; d < step; d += 6) line(ctx, ink, 1.25, x + d, y + step, x + d + step, y);
  });
}

export function drawMini(view, { kind, head, map: mini, note }) {
  const { rows, cols, shift } = view.header;
  const width = view.tile.mini;
  const step = width / cols;
  const ctx = mini.size(width, step * rows);
  const keys = view.keysByPatch(kind);
  ctx.globalAlpha = 0.9;
  blit(ctx, view.tile.image, 0, 0, width, step * rows, view.tile.image.width > width);
  ctx.globalAlpha = 1;
  for (let p = 0; p < view.count; p++) drawMiniPatch(view, ctx, p, keys.get(p), kind === 'shifted', step);
  const patch = view.active();
  frame(ctx, (patch % cols) * step, Math.floor(patch / cols) * step, step, step);
  head.textContent = kind === 'shifted' ? `Windows shifted by ${shift}` : 'Regular windows';
  note.textContent = describeKeys([...keys.values()], kind === 'shifted', view.leaking);
  mini.node.setAttribute('role', 'img');
  mini.node.setAttribute('aria-label', `${head.textContent}: patch ${patch + 1} ${note.textContent}`);
}

function drawMiniPatch(view, ctx, p, key, isShift, step) {
  const { cols } = view.header;
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
  const n = view.cells;
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
  const n = view.cells;
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
  const step = width / view.cells;
  fill(ctx, view.now.colors.panel, x, y, width, width);
  blit(ctx, cellImage(view, w), x, y, width, width);
  if (rowLit >= 0) frame(ctx, x, y + rowLit * step, width, step, undefined, 2);
}

export function drawMatrix(view) {
  const { w, q } = view.home();
  const width = view.tile.matrix;
  const n = view.cells;
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
  const every = g.total * view.cells ** 2;
  view.allHead.textContent = !view.isShifted()
    ? `Regular block: ${plural(g.total, 'window')}, no mask (query × key)`
    : view.attending()
      ? `Attention in ${plural(g.total, 'window')} (query × key), ${view.leaking ? 'without the mask' : 'masked'}`
      : `Mask per window (query × key): ${plural(pairs, 'pair')} of ${counted(every)} masked, in ${touched} of ${plural(g.total, 'window')}`;
}
