// Where everything on the map stands: boxes in pixels from a width and the parts, nothing drawn.
//
// The parts flow in bands: 'intro' (picture to sequence), 'core' (blocks, with the stream under them) and 'outro' (from
// the token that is read to the classes). A wide core has the outro at its right end. Places are counted from a band's corner.

const NARROW = 640;
const TITLE = 24;
const STRIP = 9;
export const STREAM = 46; // the height that the longest token takes
const LENS = 52;
const MLP = 18;
export const INSET = 20; // what the core leaves free at its left, where the stream comes in

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/** The side of a cell of a part's tile, and the height that its prefix tokens take above the picture. */
function above(part, side) {
  const prefix = part.prefix ?? [];
  if (!prefix.length || part.kind !== 'block') return 0;
  return clamp(side / part.grid[1], 9, 18) + 3;
}

/** From a picture to a sequence, side by side: tiles as large as the width allows, arrows with shapes between them. */
function introWide(parts, width, ratio) {
  const gapLeast = width < 900 ? 50 : 62;
  const side = Math.floor(clamp((width - (parts.length - 1) * gapLeast) / parts.length, 64, 196));
  const gap = parts.length > 1 ? Math.min(110, (width - parts.length * side) / (parts.length - 1)) : 0;
  const tall = Math.round(side * ratio);
  const boxes = {};
  parts.forEach((part, i) => {
    const x = Math.round(i * (side + gap));
    boxes[part.id] = {
      band: 'intro',
      ...{ x, y: 0, w: side, h: TITLE + tall + STRIP + 30 },
      tile: { x, y: TITLE, w: side, h: tall },
      strip: { x, y: TITLE + tall + 10, w: side, h: STRIP },
      note: { x, y: TITLE + tall + 12 + STRIP, w: side + Math.min(gap, 24) },
    };
  });
  const arrows = parts.slice(1).map((part, i) => {
    const from = boxes[parts[i].id].tile;
    return { from: parts[i].id, to: part.id, band: 'intro', x: from.x + side, y: TITLE + tall / 2, w: gap, along: 'x' };
  });
  return { boxes, arrows, height: TITLE + tall + STRIP + 38 };
}

/** How many columns of blocks a line holds, and how wide their tiles are; a merge takes less room. */
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
  const pitch = Math.min(width / Math.ceil(perLine), 156);
  return { rows, pitch, side: Math.floor(pitch - clamp(pitch * 0.16, 8, 26)), weight };
}

/** Blocks in lines, each with the stream under it, where the MLP gives, and what the head would say there. */
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
    const end = mlp + MLP + (lens ? 22 + LENS : 8);
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
      boxes[part.id].mlp = { x: tile.x + w / 2 - 4, y: mlp, w: Math.min(44, w / 2 + 4), h: MLP };
      x += pitch * weight(part);
    }
    used = Math.max(used, x - (pitch - side));
    lines.push({
      ids: row.map((part) => part.id),
      top,
      stream,
      mlp,
      x0: 0,
      x1: x,
      lens: lens ? { y: mlp + MLP + 18, h: LENS } : null,
    });
    top = end + 14;
  }
  return { boxes, lines, height: top, used, along: 'x' };
}

/** The way out beside the last line of blocks: the norm on the stream, the head over the classes. */
function outroBeside(parts, x, width, core) {
  const line = core.lines.at(-1);
  const boxes = {};
  const gate = parts.find((part) => part.kind === 'norm');
  const pool = parts.find((part) => part.kind === 'pool');
  const right = x + 64;
  if (gate)
    boxes[gate.id] = {
      band: 'core',
      x: x + 6,
      y: line.stream - 44,
      w: 40,
      h: 88,
      tile: { x: x + 14, y: line.stream - 24, w: 24, h: 48 },
    };
  if (pool)
    boxes[pool.id] = {
      band: 'core',
      x: right,
      y: line.top,
      w: width - 64,
      h: 44,
      tile: { x: right, y: line.top + TITLE, w: width - 64, h: 14 },
    };
  const top = line.top + (pool ? 50 : 0);
  const bottom = core.height - 14;
  const headTall = pool ? 52 : clamp((bottom - top) * 0.3, 56, 96);
  boxes.head = {
    band: 'core',
    x: right,
    y: top,
    w: width - 64,
    h: headTall,
    tile: { x: right, y: top + TITLE, w: width - 64, h: headTall - TITLE },
  };
  const at = top + headTall + 26;
  boxes.classes = {
    band: 'core',
    x: right,
    y: at,
    w: width - 64,
    h: bottom - at,
    tile: { x: right, y: at + TITLE, w: width - 64, h: bottom - at - TITLE },
  };
  return boxes;
}

/** The way out as a band of its own: norm or pool, head, classes from left to right. */
function outroWide(parts, width, classes) {
  const boxes = {};
  const tall = Math.max(96, classes * 17);
  const gap = 72;
  const widths = { norm: 84, pool: 190, head: 240, classes: 320 };
  const natural = parts.reduce((sum, part) => sum + widths[part.kind], 0) + gap * (parts.length - 1);
  const scale = Math.min(1.4, (width - gap * (parts.length - 1)) / (natural - gap * (parts.length - 1)));
  let x = 0;
  const arrows = [];
  parts.forEach((part, i) => {
    const w = Math.floor(widths[part.kind] * scale);
    boxes[part.id] = { band: 'outro', x, y: 0, w, h: TITLE + tall, tile: { x, y: TITLE, w, h: tall } };
    if (i)
      arrows.push({
        from: parts[i - 1].id,
        to: part.id,
        band: 'outro',
        x: x - gap,
        y: TITLE + tall / 2,
        w: gap,
        along: 'x',
      });
    x += w + gap;
  });
  return { boxes, arrows, height: TITLE + tall + 12 };
}

function wide(model, width) {
  const ratio = clamp(model.header.photo.px[0] / model.header.photo.px[1], 0.5, 1.4);
  const intro = introWide(model.intro, width, ratio);
  const lens = Boolean(model.arrays.lens);
  const classes = model.header.classes.names.length;
  if (!model.flow.length) {
    const outro = outroWide(model.outro, width, classes);
    return assemble({ intro, outro });
  }
  const side = clamp(width * 0.27, 228, 380);
  const core = coreWide(model.flow, width - side - 12 - INSET, ratio, lens);
  Object.assign(
    core.boxes,
    outroBeside(model.outro, Math.min(core.used + 8, width - side), Math.min(side, width - core.used), core),
  );
  return assemble({ intro, core });
}

/** On a phone all runs down: a tile at the left, its words at the right; the stream is the left margin of the blocks. */
function tall(model, width) {
  const ratio = clamp(model.header.photo.px[0] / model.header.photo.px[1], 0.5, 1.4);
  const side = Math.round(clamp(width * 0.32, 96, 128));
  const column = (parts, band, x0, gap, w = () => side, h = () => Math.round(side * ratio)) => {
    const boxes = {};
    const arrows = [];
    let y = 0;
    parts.forEach((part, i) => {
      const lift = above(part, side);
      const tile = { x: x0, y: y + lift, w: w(part), h: h(part) };
      const beside = { x: x0 + tile.w + 14, y, w: width - x0 - tile.w - 14 };
      boxes[part.id] = {
        band,
        x: x0,
        y,
        w: width - x0,
        h: lift + tile.h,
        lift,
        tile,
        beside,
        note: { ...beside, y: y + 44 },
      };
      boxes[part.id].strip = { x: beside.x, y: y + 28, w: Math.min(beside.w, 180), h: STRIP };
      if (i)
        arrows.push({ from: parts[i - 1].id, to: part.id, band, x: x0 + side / 2, y: y - gap, w: gap, along: 'y' });
      y += lift + tile.h + gap;
    });
    return { boxes, arrows, height: y };
  };
  const intro = column(model.intro, 'intro', 0, 34);
  const flow = column(
    model.flow,
    'core',
    STREAM + 34,
    26,
    (part) => Math.floor(side * (part.kind === 'merge' ? 0.5 : 0.86)),
    (part) => Math.floor(side * ratio * (part.kind === 'merge' ? 0.5 : 0.86)),
  );
  const outro = { boxes: {}, arrows: [], height: 0 };
  for (const part of model.outro) {
    const h = part.kind === 'classes' ? model.header.classes.names.length * 22 + 6 : part.kind === 'head' ? 88 : 26;
    outro.boxes[part.id] = {
      band: 'outro',
      x: 0,
      y: outro.height,
      w: width,
      h: TITLE + h,
      tile: { x: 0, y: outro.height + TITLE, w: width, h },
    };
    outro.height += TITLE + h + 34;
  }
  const core = model.flow.length
    ? {
        ...flow,
        along: 'y',
        lines: [{ ids: model.flow.map((part) => part.id), stream: STREAM / 2 + 4, lens: null, mlp: 0 }],
      }
    : null;
  return assemble({ intro, core, outro }, true);
}

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

/** All boxes of a model on a stage so wide. */
export const layout = (model, width) => (width < NARROW ? tall(model, width) : wide(model, width));
