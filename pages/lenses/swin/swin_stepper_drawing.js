// Draw all patches at their positions between two stages of the stepper; the keys of a patch in both blocks; and the
// matrices of its window and of all windows.

import {
  fill,
  frame,
  clipped,
  lattice,
  line,
  outline,
  write,
  writeOutlined,
} from '../../../vitviz/browser/kit/axes.js';
import { el, canvas } from '../../../vitviz/browser/kit/dom.js';
import { blit, offscreen, picture } from '../../../vitviz/browser/kit/pixels.js';
import { counted, plural } from '../../../vitviz/browser/kit/text.js';
import { describeKeys, GAP, LAST, pose, ROW_GAP } from './swin_stepper_stages.js';

/** Render the patches, their numbers and region ids; animation frames copy from these layers. */
export function paint(view) {
  const { rows, cols } = view.header;
  const step = view.tile.step;
  const image = picture(view.now.arrays.shown);
  view.layers = Object.fromEntries(
    ['image', 'numbers', 'ids'].map((name) => {
      const layer = canvas(null);
      layer.size(cols * step, rows * step);
      return [name, layer];
    }),
  );
  const { ctx } = view.layers.image;
  blit(ctx, image, 0, 0, cols * step, rows * step, image.width > cols * step);
  for (let p = 0; p < view.count; p++) paintPatch(view, p, (p % cols) * step, Math.floor(p / cols) * step);
}

function paintPatch(view, p, x, y) {
  const { numbers, ids } = view.layers;
  const { colors } = view.now;
  const step = view.tile.step;
  const font = (size) => `600 ${size}px ${colors.font}`;
  numbers.ctx.textBaseline = 'top';
  if (step >= 17) writeOutlined(numbers.ctx, font(Math.max(13, Math.min(15, step * 0.32))), `${p + 1}`, x + 3, y + 2);
  Object.assign(ids.ctx, { textAlign: 'center', textBaseline: 'middle' });
  const size = Math.max(13, Math.min(22, step * 0.42));
  writeOutlined(ids.ctx, font(size), `${view.regionOf(p)}`, x + step / 2, y + step / 2, [colors.ink, colors.paper]);
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
  if (at.tint > 0.5) drawRegions(view, ctx, at);
  drawWindows(view, ctx, at, first);
  const query = view.corner(view.active(), at);
  frame(ctx, query.x, query.y, step, step, undefined, 3);
  view.frames += 1;
  view.root.dataset.frames = String(view.frames);
}

/** Draw a line between neighbours of different regions. */
function drawRegions(view, ctx, at) {
  const { rows, cols } = view.header;
  const step = view.tile.step;
  const ids = view.now.arrays.ids.data;
  for (let p = 0; p < view.count; p++) {
    const { x, y, c, r } = view.corner(p, at);
    const [column, row] = [Math.round(c), Math.round(r)];
    const i = row * cols + column;
    const { ink } = view.now.colors;
    if (column + 1 < cols && ids[i] !== ids[i + 1]) line(ctx, ink, 2.5, x + step, y, x + step, y + step);
    if (row + 1 < rows && ids[i] !== ids[i + cols]) line(ctx, ink, 2.5, x, y + step, x + step, y + step);
  }
}

/** Outline the windows of a stage at rest and name them; the selected patch's window has the frame of a selection. */
function drawWindows(view, ctx, { gap }, { x0, y0 }) {
  const { rows, cols, window: M } = view.header;
  const wide = M * view.tile.step;
  if (Math.abs(view.at - view.stage()) >= 0.01 || view.stage() === 0 || view.stage() === LAST) return;
  const [down, across] = [rows / M, cols / M];
  const apart = [wide + gap * GAP, wide + gap * ROW_GAP];
  const { w } = view.home();
  for (let i = 0; i < down * across; i++) {
    const [x, y] = [x0 + (i % across) * apart[0], y0 + Math.floor(i / across) * apart[1]];
    if (i === w) frame(ctx, x, y, wide, wide, undefined, 3);
    else if (gap < 0.02) outline(ctx, view.now.colors.ink, 1.5, x, y, wide, wide);
    const { colors } = view.now;
    const style = { style: i === w ? '600 13px' : '13px', color: i === w ? colors.ink : colors.muted, base: 'bottom' };
    if (gap > 0.98) write(ctx, colors, wide >= 64 ? `window ${i + 1}` : `${i + 1}`, x, y - 3, style);
  }
}

function drawPatch(view, ctx, p, x, y, { tint }, keys) {
  const { cols } = view.header;
  const step = view.tile.step;
  const { image, numbers, ids } = view.layers;
  const s = (step * image.node.width) / image.width;
  const [sx, sy] = [(p % cols) * s, Math.floor(p / cols) * s];
  const draw = ({ node }, alpha) => {
    if (alpha <= 0.01) return;
    ctx.globalAlpha = alpha;
    ctx.drawImage(node, sx, sy, s, s, x, y, step, step);
    ctx.globalAlpha = 1;
  };
  draw(image, 1);
  overlay(view, ctx, p, x, y, step, keys, view.hover >= 0, view.isShifted());
  outline(ctx, 'rgba(255,255,255,0.45)', 0.75, x, y, step, step);
  draw(numbers, 1 - tint); // above the fade, so that every number is readable
  draw(ids, tint);
}

/** Mark a patch as allowed key, masked key, or outside the query's window. */
function overlay(view, ctx, p, x, y, step, keys, strong, shiftedBlock) {
  const key = keys.get(p);
  const { colors } = view.now;
  const attending = shiftedBlock && view.attending();
  if (!key) {
    const isCut = view.stage() > 0 && view.stage() < LAST;
    if (strong || isCut) fill(ctx, colors.paper, x, y, step, step, strong ? 0.6 : 0.3);
  } else if (key.allowed || (view.leaking && shiftedBlock)) {
    const leaks = !key.allowed;
    const weight = leaks || view.leaking ? key.unmasked : key.weight;
    const color = leaks ? colors.primary : colors.query;
    if (attending) fill(ctx, color, x, y, step, step, Math.min(0.85, Math.sqrt(weight) * 1.4));
    else if (leaks) fill(ctx, color, x, y, step, step, 0.35);
  } else if (view.hasMask()) strike(view, ctx, x, y, step);
}

/** Fade a masked key and cross it out. */
function strike(view, ctx, x, y, step) {
  const { paper, muted } = view.now.colors;
  fill(ctx, paper, x, y, step, step, 0.74);
  line(ctx, muted, 1.25, x, y + step, x + step, y);
}

export function drawMini(view, { kind, head, map: mini, note }) {
  const { rows, cols, shift } = view.header;
  const width = view.hasMask() ? view.tile.mini : view.tile.large;
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
    veil(colors.paper, 0.55);
    if (share > 0) veil(colors.primary, Math.min(0.8, share));
  } else if (!key.allowed) {
    if (view.leaking && isShift) veil(colors.primary, 0.35);
    else strike(view, ctx, x, y, step);
  }
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
  if (allowed) return [[208, 206, 202], 1]; // bright, and masked pairs dark, in both themes
  return view.leaking ? [colors.primary, 0.5] : [[76, 80, 86], 1];
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
  if (step >= 6) {
    ctx.save();
    ctx.translate(x, y);
    lattice(ctx, view.now.colors.paper, 1, view.cells, view.cells, width, width);
    ctx.restore();
  }
  if (rowLit >= 0) frame(ctx, x, y + rowLit * step, width, step, undefined, 2);
}

export function drawMatrix(view) {
  const { w, q } = view.home();
  const width = view.tile.mini;
  const n = view.cells;
  const { map: matrix, head, note } = view.own;
  drawCells(view, matrix.size(width, width), w, 0, 0, width, q);
  head.textContent = `Window ${w + 1}: ${view.attending() ? 'attention' : 'allowed pairs'}`;
  const masked = view.masked(w)
    ? `${counted(view.masked(w))} of ${counted(n * n)} pairs masked`
    : 'nothing to mask: no wrapped patches';
  const pairs = view.isShifted() ? masked : `${n} × ${n} pairs, all allowed`;
  note.textContent = `row: query, column: key\n${pairs}`;
  matrix.node.setAttribute('aria-label', `${head.textContent}: ${note.textContent.replaceAll('\n', '; ')}`);
  view.key.replaceChildren();
  const entries = view.attending()
    ? [['query', 'weight'], ...(view.leaking ? [['leak', 'weight across the edge']] : [])]
    : [
        ['allowed', 'allowed'],
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
  const { map: all, head, note } = view.every;
  const ctx = all.size(g.across * (g.width + g.gap) - g.gap, g.down * (g.width + g.gap) - g.gap);
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
  head.textContent = `All ${plural(g.total, 'window')}`;
  note.textContent = !view.isShifted()
    ? `${counted(every)} pairs, no mask; global attention: ${counted(view.count ** 2)}`
    : view.attending()
      ? `attention, ${view.leaking ? 'without the mask' : 'masked'}`
      : `${plural(pairs, 'pair')} of ${counted(every)} masked, in ${touched} of ${plural(g.total, 'window')}`;
}
