// Draw all patches at their positions between two stages of the stepper.

import { clipped, fill, frame, line, outline } from '../../../vitviz/browser/kit/axes.js';
import { canvas } from '../../../vitviz/browser/kit/dom.js';
import { PALETTE } from '../../../vitviz/browser/kit/palette.js';
import { blit, picture } from '../../../vitviz/browser/kit/pixels.js';
import { LAST, pose } from './swin_stepper_stages.js';

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
  const { rows, cols } = view.H();
  const step = view.tile.step;
  const image = picture(view.now.arrays.shown);
  [view.sheet, view.tinted] = [0, 1].map(() => {
    const layer = canvas(null);
    layer.size(cols * step, rows * step);
    blit(layer.ctx, image, 0, 0, cols * step, rows * step, image.width > cols * step);
    return layer;
  });
  for (let p = 0; p < view.count(); p++) paintPatch(view, p, (p % cols) * step, Math.floor(p / cols) * step);
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
  const { rows, cols } = view.H();
  const step = view.tile.step;
  const ctx = view.map.size(view.side, view.tile.height);
  const keys = view.keysByPatch(view.isShifted() ? 'shifted' : 'regular');
  const closed = at.gap < 0.02;
  const first = view.corner(0, { gap: at.gap, roll: 0 });
  const box = closed ? [first.x0, first.y0, cols * step, rows * step] : [0, 0, view.side, view.tile.height];
  clipped(ctx, box, () => {
    for (let p = 0; p < view.count(); p++) {
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
  const { rows, cols, window: M } = view.H();
  const wide = M * view.tile.step;
  if (Math.abs(view.at - view.stage()) >= 0.01 || view.stage() === 0 || view.stage() === LAST) return;
  for (let r = 0; r < rows / M; r++)
    for (let c = 0; c < cols / M; c++) outline(ctx, view.now.colors.ink, 1.5, x0 + c * wide, y0 + r * wide, wide, wide);
}

function drawPatch(view, ctx, p, x, y, { tint }, keys) {
  const { cols } = view.H();
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

export function hatch(view, ctx, x, y, step, strong) {
  const { paper, ink } = view.now.colors;
  fill(ctx, paper, x, y, step, step, strong ? 0.55 : 0.3);
  clipped(ctx, [x, y, step, step], () => {
    ctx.globalAlpha = strong ? 0.95 : 0.7;
    for (let d = -step; d < step; d += 6) line(ctx, ink, 1.25, x + d, y + step, x + d + step, y);
  });
}
