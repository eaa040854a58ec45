// Draw the tile of each part from its activations.

import { clipped, fill, outline, write } from '../../vitviz/browser/kit/axes.js';
import {
  blit,
  createContext,
  drawPatch,
  heat,
  heatPixels,
  picture,
  shrink,
  stamp,
} from '../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT, accentLut, greatest } from '../../vitviz/browser/kit/colour_ramp.js';
import { percent, tokenName } from '../../vitviz/browser/kit/text.js';
import { apart, sequenceLines } from './map_cells.js';
import { READ } from './map_layout.js';

/** Return the image in grey, as the background of attention maps. */
export function greyed(bitmap) {
  const ctx = shrink(bitmap, 256);
  const image = ctx.getImageData(0, 0, ctx.canvas.width, ctx.canvas.height);
  const { data } = image;
  for (let i = 0; i < data.length; i += 4)
    data[i] = data[i + 1] = data[i + 2] = 26 + 0.74 * (0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2]);
  ctx.putImageData(image, 0, 0);
  return ctx.canvas;
}

let greys = null; // of the drawing

/** Return a drawing in the same greys; it has no colour, so no pixel is read back. */
export function greyedDrawing(image) {
  const ctx = (greys ??= createContext(256, 256));
  ctx.globalAlpha = 1;
  ctx.fillStyle = '#646464'; // 26 of 255 remain where the drawing is black
  ctx.fillRect(0, 0, 256, 256);
  ctx.globalAlpha = 0.74;
  ctx.drawImage(image, 0, 0, 256, 256);
  return ctx.canvas;
}

/** Return [minimum, maximum] of a block's attention map; the minimum is 0 except for window attention. */
export function rangeOf(model, block) {
  const patches = model.row(block).subarray(block.prefix.length);
  const least = block.row_of === 'received' ? patches.reduce((a, b) => Math.min(a, b), Infinity) : 0;
  return [least, patches.reduce((a, b) => Math.max(a, b), 0)];
}

const smooth = (bitmap) => bitmap.width > 128;

const CORNER = 3; // px of a tile's radius

function drawPicture(ctx, w, h, { photo, pad, colors }) {
  if (pad?.paint(ctx, w, colors)) return;
  if (photo) clipped(ctx, [0, 0, w, h], () => blit(ctx, photo, 0, 0, w, h, smooth(photo)), CORNER);
}

function drawPatches(ctx, w, h, { seen, model, part }) {
  if (!seen) return;
  const [rows, cols] = part.grid ?? model.header.grid;
  const gap = apart(w, cols);
  const [cw, ch] = [(w + gap) / cols, (h + gap) / rows];
  for (let i = 0; i < rows * cols; i++)
    drawPatch(ctx, seen, [rows, cols], i, [(i % cols) * cw, Math.floor(i / cols) * ch, cw - gap, ch - gap]);
}

/** Draw up to four maps, two by two, each on its own scale. */
function drawMaps(ctx, { data, shape }, [x, y, w, h], ranges, table) {
  const [count, rows, cols] = shape;
  const across = count > 1 ? 2 : 1;
  const down = Math.ceil(count / across);
  const gap = 3;
  const [cw, ch] = [(w - gap * (across - 1)) / across, (h - gap * (down - 1)) / down];
  for (let i = 0; i < count; i++) {
    const image = heat(data, rows, cols, table, ...ranges, i * rows * cols);
    const at = [x + (i % across) * (cw + gap), y + Math.floor(i / across) * (ch + gap), cw, ch];
    clipped(ctx, at, () => blit(ctx, image, ...at, cols > 64), 2);
  }
}

/** Draw columns of E as filters; grey is weight 0. */
function drawFilters(ctx, { data, shape }, w, h) {
  const [count, rows, cols, channels] = shape;
  const across = Math.ceil(Math.sqrt(count));
  const gap = 3;
  const side = (Math.min(w, h) + gap) / across;
  for (let i = 0; i < count; i++) {
    const size = rows * cols * channels;
    const image = picture({ data: data.subarray(i * size, (i + 1) * size), shape: [rows, cols, channels] });
    const at = [(i % across) * side, Math.floor(i / across) * side, side - gap, side - gap];
    clipped(ctx, at, () => blit(ctx, image, ...at), 2);
  }
}

/** Draw E's filters, or four of its output maps if the filters are not sent. */
function drawEmbed(ctx, w, h, { model, part }) {
  const filters = model.array(part, 'filters');
  if (filters) drawFilters(ctx, filters, w, h);
  else drawMaps(ctx, model.array(part, 'maps'), [0, 0, w, h], [0, 255], DIVERGING_LUT);
}

function drawLevel(ctx, w, h, { model, part }) {
  drawMaps(ctx, model.array(part, 'maps'), [0, 0, w, h], [0, 255], SEQUENTIAL_LUT);
}

/** Draw signed values as a strip on the scale ±`top`. */
export function drawStrip(ctx, values, box, top = greatest(values)) {
  stamp(ctx, heatPixels(values, 1, values.length, DIVERGING_LUT, -top, top), box);
}

/** Draw a sequence as thumbnails of its tokens, each with the first channels of its vector. */
function drawSequence(ctx, w, h, { model, seen, colors, box }) {
  const { header } = model;
  const lines = sequenceLines(model, box);
  const shown = lines.filter((line) => line.pin).map((line) => model.content(line.pin));
  const top = Math.max(...shown.filter(Boolean).map(greatest)) * 0.75;
  for (const { pin, y, h: tall } of lines) {
    const at = y - box.tile.y;
    const side = tall - 3;
    ctx.fillStyle = colors.muted;
    if (!pin) {
      for (const k of [-1, 0, 1]) ctx.fillRect(side / 2 - 1 + 0.5, at + tall / 2 + k * 3.5 - 1, 2, 2);
      continue;
    }
    const cell = model.tokenAt(header, pin) - header.prefix.length;
    if (cell < 0) drawToken(ctx, pin, [0, at + 1.5, side, side], colors);
    else if (seen) drawPatch(ctx, seen, header.grid, cell, [0, at + 1.5, side, side]);
    const values = model.content(pin);
    if (values) drawStrip(ctx, values, [side + 4, at + 1.5, w - side - 4, side], top);
  }
}

/** Draw a prefix token: a small accent square with its first letter. */
export function drawToken(ctx, name, [x, y, w, h], colors) {
  ctx.fillStyle = colors.ink;
  ctx.beginPath();
  ctx.roundRect(x, y, w, h, Math.min(4, w / 4));
  ctx.fill();
  if (w < 14) return;
  const style = { style: '600 12px', color: colors.paper, align: 'center' };
  write(ctx, colors, name[0].toUpperCase(), x + w / 2, y + h / 2 + 0.5, style);
}

/** Draw the similarity of every position with every other; only one map if the rest is not sent. */
function drawPositions(ctx, w, h, { model, part }) {
  const { data, shape } = model.array(part, 'cosine');
  const [rows, cols] = part.grid ?? model.header.grid;
  const first = shape[1] - rows * cols;
  if (shape[0] === 1) return stamp(ctx, heatPixels(data, rows, cols, DIVERGING_LUT, -127, 127, first), [0, 0, w, h]);
  const gap = w / cols > 10 ? 1.5 : 1;
  const [cw, ch] = [(w + gap) / cols, (h + gap) / rows];
  for (let i = 0; i < rows * cols; i++) {
    const image = heatPixels(data, rows, cols, DIVERGING_LUT, -127, 127, (first + i) * shape[1] + first);
    stamp(ctx, image, [(i % cols) * cw, Math.floor(i / cols) * ch, cw - gap, ch - gap]);
  }
}

/** Draw a block: the attention of the readout token over the image, prefix tokens above it. */
function drawBlock(ctx, w, h, { model, part, grey, colors, box }) {
  const values = model.row(part);
  const first = part.prefix.length;
  const [rows, cols] = part.grid;
  const patches = values.subarray(first);
  const [low, top] = rangeOf(model, part);
  const lift = box.lift ?? 0;
  const table = accentLut(colors.query);
  const tile = [0, lift, w, h - lift];
  const draw = () => {
    if (grey) blit(ctx, grey, ...tile, smooth(grey));
    stamp(ctx, heatPixels(patches, rows, cols, table, low, top), tile);
  };
  clipped(ctx, tile, draw, CORNER);
  part.prefix.forEach((name, i) => {
    const side = lift - 3;
    ctx.fillStyle = colors.panel;
    ctx.strokeStyle = colors.muted;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.roundRect(i * (side + 2) + 0.5, 0.5, side - 1, side - 1, 2);
    ctx.fill();
    ctx.globalAlpha = Math.min(1, values[i] / (top || 1));
    ctx.fillStyle = colors.query;
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.stroke();
  });
  namePrefix(ctx, w, part.prefix, lift - 3, colors);
  if (part.window) drawWindows(ctx, w, h, lift, part, colors);
}

/** Write the names of the prefix tokens beside their squares if there is room. */
function namePrefix(ctx, w, prefix, side, colors) {
  const [words, left] = [prefix.map(tokenName).join(' '), prefix.length * (side + 2) + 2];
  ctx.font = `12px ${colors.font}`;
  if (words && left + ctx.measureText(words).width <= w) write(ctx, colors, words, left, side / 2 + 0.5);
}

/** Draw the lines between windows; shifted windows are offset by half a window. */
function drawWindows(ctx, w, h, lift, { grid: [rows, cols], window, shifted }, colors) {
  ctx.strokeStyle = colors.mode === 'dark' ? 'rgb(255 255 255 / 0.85)' : '#fff';
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  const from = (size) => (shifted ? Math.floor(size / 2) : size);
  for (let c = from(window[1]); c < cols; c += window[1]) {
    ctx.moveTo((c * w) / cols, lift);
    ctx.lineTo((c * w) / cols, h);
  }
  for (let r = from(window[0]); r < rows; r += window[0]) {
    ctx.moveTo(0, lift + (r * (h - lift)) / rows);
    ctx.lineTo(w, lift + (r * (h - lift)) / rows);
  }
  ctx.stroke();
}

function drawMerge(ctx, w, h, { model, part }) {
  const { data } = model.array(part, 'length');
  const most = data.reduce((a, b) => Math.max(a, b), 0);
  const image = heatPixels(data, ...part.grid, SEQUENTIAL_LUT, 0, most);
  clipped(ctx, [0, 0, w, h], () => stamp(ctx, image, [0, 0, w, h]), CORNER);
}

/** Draw the final LayerNorm, with the norms before and after it if there is room. */
function drawGate(ctx, w, h, { model, part, colors }) {
  ctx.fillStyle = colors.panel;
  ctx.strokeStyle = colors.muted;
  ctx.lineWidth = 1.25;
  ctx.beginPath();
  ctx.roundRect(0.75, 0.75, w - 1.5, h - 1.5, 6);
  ctx.fill();
  ctx.stroke();
  const style = { style: '600 12px', color: colors.ink, align: 'center' };
  write(ctx, colors, w < 120 ? 'LN' : lengthsOf(model, part), w / 2, h / 2 + 0.5, style);
}

function lengthsOf(model, part) {
  const [into, out] = ['in_length', 'length'].map((name) => {
    const { data } = model.array(part, name);
    return part.token >= 0 ? data[part.token] : data.reduce((a, b) => a + b, 0) / data.length;
  });
  return `length ${into.toFixed(1)}  →  LN  →  length ${out.toFixed(1)}`;
}

function drawVectors(ctx, w, h, { model, part }) {
  const { shape } = model.array(part, 'vectors');
  const tall = (h - 2 * (shape[0] - 1)) / shape[0];
  for (let i = 0; i < shape[0]; i++) drawStrip(ctx, model.vector(part, i), [0, i * (tall + 2), w, tall]);
}

const headImages = new WeakMap(); // of the head's weights, which do not depend on the image

/** Draw the head: its input, and below it one row of weights per class and head. */
function drawHead(ctx, w, h, { model, part, colors }) {
  const weights = model.array(part, 'weights');
  drawVectors(ctx, w, weights ? READ - 6 : Math.min(h, READ), { model, part });
  if (!weights) return;
  const [heads, rows, cols] = weights.shape;
  if (!headImages.has(weights.data))
    headImages.set(weights.data, heat(weights.data, heads * rows, cols, DIVERGING_LUT, -127, 127));
  const image = headImages.get(weights.data);
  const step = (h - READ) / rows;
  const tall = Math.min(16, step - 4) / heads;
  for (let k = 0; k < rows; k++) {
    const y = READ + k * step + (step - heads * tall) / 2;
    for (let head = 0; head < heads; head++) {
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(image, 0, head * rows + k, cols, 1, 0, y + head * tall, w, tall - (heads > 1 ? 1 : 0));
    }
    if (k === model.top && !model.isEmpty) outline(ctx, colors.primary, 2, 1, y - 1, w - 2, heads * tall + 2);
  }
}

const PERCENT = 50; // what a probability takes at a line's end
const LEAST_BAR = 12;
const SMALLEST = 12; // px of type

/** Draw a line per class: name and probability bar; `share` scales the bars during the animation. */
function drawClasses(ctx, w, h, { model, colors, share = 1 }) {
  if (model.isEmpty)
    return write(ctx, colors, 'Draw a digit', 0, h / 2, { style: `${SMALLEST}px`, color: colors.muted });
  const { names, truth } = model.header.classes;
  const probabilities = model.arrays.probabilities.data;
  const step = h / names.length;
  const marked = names.map((text, i) => (i === truth ? `${text} ✓` : text));
  const most = w - PERCENT - LEAST_BAR;
  const usual = Math.max(SMALLEST, Math.min(13, step * 0.84));
  ctx.font = `600 ${usual}px ${colors.font}`;
  const longest = Math.max(...marked.map((text) => ctx.measureText(text).width)) + 10;
  const size = Math.min(usual, Math.max(SMALLEST, (usual * most) / longest)); // prefer names that fit
  const name = Math.min(longest, most);
  const track = w - name - PERCENT;
  marked.forEach((text, i) => {
    const y = i * step + step / 2;
    const best = i === model.top && share > 0;
    const style = { style: `${best ? 600 : 400} ${size}px`, color: best ? colors.ink : colors.muted };
    write(ctx, colors, text, 0, y, { ...style, room: name - 6 });
    const tall = Math.min(12, step * 0.6);
    fill(ctx, colors.panel, name, y - tall / 2, track, tall);
    const length = Math.max(1, track * probabilities[i] * share);
    fill(ctx, best ? colors.primary : colors.muted, name, y - tall / 2, length, tall);
    write(ctx, colors, percent(probabilities[i] * share), w, y, { ...style, align: 'right' });
  });
}

export const PAINTERS = {
  picture: drawPicture,
  patches: drawPatches,
  embed: drawEmbed,
  maps: drawLevel,
  prefix: drawSequence,
  positions: drawPositions,
  block: drawBlock,
  merge: drawMerge,
  norm: drawGate,
  pool: drawVectors,
  head: drawHead,
  classes: drawClasses,
};
