// Compute the layout of the map: boxes in pixels from a width and the parts.
//
// The parts form bands: 'intro' (image to sequence), 'core' (blocks above the residual stream) and 'outro' (readout to
// classes); a wide core has the outro at its right end. Coordinates are relative to a band's corner.
// `note` is the place of a part's caption, `tools` that of the image's buttons, `seen` that of the model's input.

import { grown } from '../../vitviz/browser/kit/figure_scale.js';

const NARROW = 640;
export const CLOSE = 900; // the bar's sentence stands below its buttons
const FRAME = 4; // beyond a part's edge
const TITLE = 24;
const STRIP = 9;
const TOOLS = 34; // the image's buttons, with the gap above
const CAPTION = 20;
const LARGEST = 160; // px of a part's tile; the image is half as large again
export const STREAM = 46; // the height that the longest token takes
const LENS = 44;
const MLP = 18;
export const RETURN = 26; // how far above the core the way back runs
export const READ = 20; // above the head's rows: what it reads
export const INSET = 20; // what the core leaves free at its left, where the stream comes in

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/** Return the height of a part's prefix tokens above its tile. */
function above(part, side) {
  const prefix = part.prefix ?? [];
  if (!prefix.length || part.kind !== 'block') return 0;
  return clamp(side / part.grid[1], 9, 18) + 3;
}

/** Place the parts from image to sequence side by side, as large as the width allows, with arrows between them. */
function introWide(parts, width, ratio) {
  const count = parts.length - 1;
  const longest = Math.max(...parts.slice(0, -1).map((part) => part.shape_out.join(' × ').length));
  const gapLeast = clamp(longest * 5.6, 52, 92);
  const side = Math.floor(clamp((width - count * gapLeast) / (count + 1.5), 64, LARGEST));
  const large = Math.round(1.5 * side);
  const gap = count ? Math.min(130, (width - large - count * side) / count) : 0;
  const boxes = {};
  const arrows = [];
  let x = 0;
  parts.forEach((part, i) => {
    const w = i ? side : large;
    const h = Math.round(w * ratio);
    const y = TITLE + h + 8;
    const strip = part.kind === 'embed' || part.kind === 'positions' ? STRIP + CAPTION : 0;
    boxes[part.id] = {
      band: 'intro',
      ...{ x, y: 0, w, h: y + (i ? strip + CAPTION : TOOLS) },
      tile: { x, y: TITLE, w, h },
      strip: { x, y, w, h: STRIP },
      note: i ? { x, y: y + strip - 4, w: w + (i < count ? Math.min(gap, 40) : 0) } : null,
      tools: i ? null : { x, y, w: Math.max(w, 204) },
    };
    const arrow = { from: parts[i - 1]?.id, to: part.id, band: 'intro', along: 'x' };
    if (i) arrows.push({ ...arrow, x: x - gap, y: TITLE + (side * ratio) / 2, w: gap });
    x = Math.floor(x + w + gap);
  });
  const seen = Math.min(56, gap - 12);
  boxes[parts[0].id].seen = { x: large + (gap - seen) / 2, y: TITLE + (side * ratio) / 2 + 14, w: seen };
  return { boxes, arrows, height: Math.max(...Object.values(boxes).map(({ h }) => h)) + 4 };
}

/** Compute the columns of blocks per line and their widths; patch merging takes less room. */
export function columns(parts, width) {
  const weight = (part) => (part.kind === 'merge' ? 0.62 : 1);
  const total = parts.reduce((sum, part) => sum + weight(part), 0);
  const least = 54;
  const lines = Math.max(1, Math.ceil((total * least) / width));
  const perLine = total / lines;
  const rows = [];
  let room = 0;
  for (const part of parts) {
    if (!rows.length || room + weight(part) > perLine + 0.05) {
      rows.push([]);
      room = 0;
    }
    rows.at(-1).push(part);
    room += weight(part);
  }
  const pitch = Math.min(width / Math.ceil(perLine), LARGEST + 20);
  return { rows, pitch, side: Math.floor(pitch - clamp(pitch * 0.1, 8, 20)), weight };
}

/** Place the blocks in lines, each with its stream, MLPs and logit lens. */
function coreWide(parts, width, ratio, lens) {
  const { rows, pitch, side, weight } = columns(parts, width);
  const boxes = {};
  const lines = [];
  let top = 0;
  let used = 0;
  for (const row of rows) {
    const lift = Math.max(...row.map((part) => above(part, side)));
    const tall = Math.round(side * ratio);
    const stream = top + TITLE + lift + tall + 20 + STREAM / 2;
    const mlp = stream + STREAM / 2 + 16;
    const end = mlp + MLP + (lens ? 20 + LENS : 8);
    let x = INSET;
    for (const part of row) {
      const w = Math.floor(side * (part.kind === 'merge' ? 0.5 : 1));
      const tile = {
        x: Math.round(x),
        y: top + TITLE + lift + (part.kind === 'merge' ? (tall - w * ratio) / 2 : 0),
        w,
        h: Math.round(w * ratio),
      };
      boxes[part.id] = { band: 'core', x: tile.x, y: top, w, h: mlp + MLP - top, lift: above(part, side), tile };
      if (part.kind === 'block')
        boxes[part.id].mlp = { x: tile.x + w / 2 - 4, y: mlp, w: Math.min(44, w / 2 + 4), h: MLP };
      x += pitch * weight(part);
    }
    used = Math.max(used, x - (pitch - side));
    lines.push({
      ids: row.map((part) => part.id),
      top,
      stream,
      mlp,
      start: INSET,
      lens: lens ? { y: mlp + MLP + 18, h: LENS } : null,
    });
    top = end + 14;
  }
  return { boxes, lines, height: top, used, along: 'x' };
}

/** Place the outro beside the last line of blocks; head and classes share their rows. */
function outroBeside(parts, x, width, core, classes) {
  const line = core.lines.at(-1);
  const has = (kind) => parts.some((part) => part.kind === kind);
  const right = x + 58;
  const room = width - 58;
  const boxes = {};
  const at = (id, tile) => {
    boxes[id] = { band: 'core', x: tile.x, y: tile.y - TITLE, w: tile.w, h: tile.h + TITLE, tile };
  };
  if (has('norm')) {
    const tile = { x: x + 12, y: line.stream - 26, w: 26, h: 52 };
    boxes.norm = { band: 'core', x: tile.x - 4, y: tile.y - 4, w: 34, h: 60, tile };
  }
  let top = line.top + TITLE;
  if (has('pool')) {
    at('pool', { x: right, y: top, w: room, h: 12 });
    top += 12 + 16 + TITLE;
  }
  const tall = clamp(core.height - 14 - CAPTION - top, READ + classes * 17, READ + classes * 27);
  core.height = Math.max(core.height, top + tall + 14);
  const part = Math.round(room * 0.4);
  at('head', { x: right, y: top, w: part - 12, h: tall });
  at('classes', { x: right + part, y: top + READ, w: room - part, h: tall - READ });
  for (const id of ['head', 'classes']) {
    const { tile } = boxes[id];
    Object.assign(boxes[id], { y: top - TITLE, h: tall + TITLE, note: { x: tile.x, y: top + tall + 4, w: tile.w } });
  }
  return boxes;
}

/** Place the outro in its own band: pool, head, classes; head and classes share their rows. */
function outroWide(parts, width, classes) {
  const boxes = {};
  const arrows = [];
  const rows = Math.max(110, classes * 20);
  const gap = 76;
  const shares = { norm: 0.4, pool: 1, head: 1.3, classes: 1.9 };
  const unit = Math.min(
    190,
    (width - gap * (parts.length - 1)) / parts.reduce((sum, part) => sum + shares[part.kind], 0),
  );
  let x = 0;
  parts.forEach((part, i) => {
    const w = Math.floor(unit * shares[part.kind]);
    const high = { norm: 44, pool: READ - 6 }[part.kind] ?? READ + rows;
    const lower = part.kind === 'classes' ? READ : 0;
    const tile = { x, y: TITLE + lower, w, h: high - lower };
    boxes[part.id] = { band: 'outro', x, y: 0, w, h: TITLE + high, tile };
    const y = TITLE + (part.kind === 'classes' ? READ + rows / 2 : (READ - 6) / 2);
    if (i) arrows.push({ from: parts[i - 1].id, to: part.id, band: 'outro', x: x - gap, y, w: gap, along: 'x' });
    x += w + gap;
  });
  return { boxes, arrows, height: TITLE + READ + rows + 12 };
}

function wide(model, width) {
  const ratio = shape(model);
  const intro = introWide(model.intro, width, ratio);
  const lens = Boolean(model.arrays.lens);
  const classes = model.header.classes.names.length;
  if (!model.flow.length) {
    const outro = outroWide(model.outro, width, classes);
    return assemble({ intro, outro });
  }
  const side = clamp(width * 0.29, 250, 400);
  const core = coreWide(model.flow, width - side - 12 - INSET, ratio, lens);
  const end = core.used + 6;
  Object.assign(core.boxes, outroBeside(model.outro, end, Math.min(width - end, side * 1.2), core, classes));
  Object.assign(core.lines.at(-1), { end: (core.boxes.norm?.tile.x ?? core.used) - 5 });
  return assemble({ intro, core });
}

/** Place parts in a column on a phone: tiles at the left, descriptions at the right. */
function column(parts, { band, width, x, gap, sized }) {
  const boxes = {};
  const arrows = [];
  let y = 0;
  parts.forEach((part, i) => {
    const { w, h } = sized(part);
    const lift = above(part, w);
    const tile = { x, y: y + lift, w, h };
    const beside = { x: x + w + 14, y, w: width - x - w - 14 };
    const strip = { x, y: y + lift + h + 4, w, h: 6 };
    boxes[part.id] = { band, x, y, w: width - x, h: lift + h, lift, tile, beside, strip };
    if (i)
      arrows.push({ from: parts[i - 1].id, to: part.id, band, x: x + w / 2, y: y - gap + 8, w: gap - 8, along: 'y' });
    y += lift + h + gap;
  });
  return { boxes, arrows, height: y };
}

/** Enlarge the image on a phone, with its buttons below. */
function enlarge(column, id, side, width) {
  const box = column.boxes[id];
  const ratio = box.tile.h / box.tile.w;
  const more = Math.round(side * ratio) - box.tile.h + TOOLS;
  Object.assign(box.tile, { w: side, h: Math.round(side * ratio) });
  Object.assign(box, { h: box.tile.h + TOOLS, tools: { x: 0, y: box.tile.h + 8, w: width } });
  box.beside = { x: side + 14, y: 0, w: width - side - 14 };
  box.seen = { x: side + 14, y: 24, w: Math.min(56, width - side - 18) };
  for (const [name, other] of Object.entries(column.boxes)) {
    if (name === id) continue;
    for (const place of [other, other.tile, other.beside, other.strip]) place.y += more;
  }
  for (const arrow of column.arrows) arrow.y += more;
  column.height += more;
}

/** Place the outro on a phone: each part as wide as the screen. */
function outroTall(parts, width, classes) {
  const boxes = {};
  const heights = { classes: classes * 24, head: READ + classes * 10, norm: 34, pool: 14 };
  let y = 0;
  for (const part of parts) {
    const h = heights[part.kind];
    boxes[part.id] = { band: 'outro', x: 0, y, w: width, h: TITLE + h, tile: { x: 0, y: y + TITLE, w: width, h } };
    y += TITLE + h + 22;
  }
  return { boxes, height: y };
}

/** Lay out the map for a phone: from top to bottom, the stream left of the blocks. */
function tall(model, width) {
  const ratio = shape(model);
  const side = Math.round(clamp(width * 0.32, 96, 128));
  const sized = (scale) => (part) => {
    const w = Math.floor(side * scale * (part.kind === 'merge' ? 0.5 : 1));
    return { w, h: Math.round(w * ratio) };
  };
  const intro = column(model.intro, { band: 'intro', width, x: 0, gap: 46, sized: sized(1) });
  enlarge(intro, model.intro[0].id, Math.min(width - 74, 300), width);
  const outro = outroTall(model.outro, width, model.header.classes.names.length);
  if (!model.flow.length) return assemble({ intro, outro }, true);
  const flow = column(model.flow, { band: 'core', width, x: STREAM + 34, gap: 26, sized: sized(0.86) });
  const line = { ids: model.flow.map((part) => part.id), stream: STREAM / 2 + 4, lens: null };
  return assemble({ intro, core: { ...flow, arrows: [], along: 'y', lines: [line] }, outro }, true);
}

const shape = ({ header }) => clamp(header.photo.px[0] / header.photo.px[1], 0.4, 1.8);

function assemble(bands, narrow = false) {
  const present = Object.entries(bands).filter(([, band]) => band);
  return {
    narrow,
    bands: present.map(([name, { height }]) => ({ name, height: Math.ceil(height) })),
    boxes: Object.assign({}, ...present.map(([, { boxes }]) => boxes)),
    arrows: present.flatMap(([, { arrows }]) => arrows ?? []),
    core: bands.core ?? null,
  };
}

/** Compute all boxes of a model for a stage width. */
export const layout = (model, width) => (width < NARROW ? tall(model, width) : wide(model, width));

/** Return the width of the map: all of the view, or as much as makes it fit a screen while it is presented. */
export const roomFor = (width) => Math.min(width, grown(width)) - 2 * FRAME;
