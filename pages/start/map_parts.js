// Build the map's elements: a button, a canvas and a caption per part, shapes on the arrows, and labels.

import { button, canvas, el, setText } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../vitviz/browser/kit/grid.js';
import { percent } from '../../vitviz/browser/kit/text.js';
import { RETURN } from './map_layout.js';
import { shapeWords } from './map_model.js';
import { lensClasses } from './map_scene.js';
import { PAINTERS, rangeOf } from './map_tiles.js';
import { partWords } from './map_words.js';

const PINS = new Set(['picture', 'patches', 'prefix', 'positions']);

/** Return a part's title; only the layer's number if the tile is small. */
function titleOf(part, box) {
  if (box.beside || (part.kind === 'norm' && box.w < 80)) return '';
  if (part.kind === 'merge') return 'Merge';
  if (part.kind !== 'block') return part.title;
  return box.w < 60 ? part.title.replace(/^\D+/, '') : part.title;
}

export function put(node, { x, y, w, h }) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px` });
  if (w !== undefined) node.style.width = `${w}px`;
  if (h !== undefined) node.style.height = `${h}px`;
}

/**
 * Build the parts' elements in their bands.
 *   acts: {open(id), pin(pin), under(id, event), look(id, pin)}
 * Returns Map id -> {node, open, view (canvas), note, beside, part, box}.
 */
export function buildParts(bands, { model, plan }, acts) {
  const made = new Map();
  const keyed = model.byId.get('patches') ?? model.byId.get('picture');
  for (const part of model.parts) {
    const box = plan.boxes[part.id];
    const node = el(bands[box.band], 'div', { class: `mp-part mp-${part.kind}`, 'data-part': part.id });
    put(node, box);
    const open = button(node, '', () => acts.open(part.id), { class: 'mp-open' });
    if (part.opens !== false) open.setAttribute('aria-expanded', 'false');
    el(open, 'span', { class: 'mp-title', 'aria-hidden': 'true' }, titleOf(part, box));
    const view = canvas(node, { class: 'mp-tile', 'aria-hidden': 'true' });
    put(view.node, { x: box.tile.x - box.x, y: box.tile.y - (box.lift ?? 0) - box.y });
    if (PINS.has(part.kind)) listenToTokens(view.node, part, { acts, model, keyed });
    if (box.mlp) {
      const glyph = el(node, 'span', { class: 'mp-mlp', 'aria-hidden': 'true' }, box.w < 52 ? '' : 'MLP');
      put(glyph, { ...box.mlp, x: box.mlp.x - box.x, y: box.mlp.y - box.y });
    }
    const at = box.beside ?? box.note;
    const words = at && el(node, 'div', { class: box.beside ? 'mp-beside' : 'mp-caption', 'aria-hidden': 'true' });
    if (words) put(words, { x: at.x - box.x, y: at.y - box.y, w: at.w });
    made.set(part.id, { node, open, view, words, part, box });
  }
  return made;
}

/** Write what changes with the image: labels for screen readers, captions, descriptions on a phone. */
export function writeParts(parts, model) {
  for (const [id, entry] of parts) {
    const part = model.byId.get(id);
    entry.part = part;
    const label = partWords(part, model);
    if (entry.open.ariaLabel !== label) entry.open.ariaLabel = label;
    if (entry.box.beside) writeBeside(entry.words, part, model);
    else if (entry.words) setText(entry.words, part.caption ?? '');
  }
  writeLargest(parts, model, model.readout);
}

/** Write a token's largest attention weight on a patch over each layer. */
export function writeLargest(parts, model, pin) {
  for (const { open, part, box } of parts.values()) {
    if (part.kind !== 'block' || box.beside || box.w < 100) continue;
    const token = model.tokenAt(part, pin);
    const isRow = pin === model.readout || token < 0;
    const largest = isRow
      ? rangeOf(model, part)[1]
      : model.keys(part, token).find(({ key }) => key >= part.prefix.length)?.weight;
    const words = `max ${percent(largest ?? 0, 0)}`;
    if (open.dataset.most !== words) open.dataset.most = words;
  }
}

/** Let a click on a tile pin a token instead of opening the part; arrow keys move over one of the tiles. */
function listenToTokens(node, part, { acts, model, keyed }) {
  node.parentNode.classList.add('mp-tokens');
  if (part !== keyed) {
    node.onclick = (event) => {
      const pin = acts.under(part.id, event);
      if (pin) acts.pin(pin);
    };
    return;
  }
  const grid = part.grid ?? model.header.grid;
  const pinOf = (cell) => model.pinOf({ grid, prefix: [] }, cell);
  node.removeAttribute('aria-hidden');
  gridNavigation(node, {
    label: `${part.title}: hover over a token to highlight it in all parts`,
    grid: () => grid,
    start: () => Math.max(0, model.tokenAt({ grid, prefix: [] }, model.header.pin)),
    hover: (cell, event) => {
      if (!event || event.type === 'keydown') acts.look(part.id, cell < 0 ? null : pinOf(cell));
    },
    pick: (cell) => acts.pin(pinOf(cell)),
  });
}

/** Write a part's description beside its tile on a phone. */
function writeBeside(node, part, model) {
  node.replaceChildren();
  el(node, 'b', {}, part.title);
  const lines =
    part.kind === 'block' ? blockLines(part, model) : [[part.stale ? 'mp-words mp-stale' : 'mp-words', part.words]];
  if (part.kind === 'picture' && model.header.drawing) return writeAnswer(node, model);
  if (part.kind !== 'block') el(node, 'span', { class: 'mp-shape-in' }, shapeWords(part.shape_out));
  for (const [name, words] of lines) el(node, 'span', { class: name }, words);
}

/** Write the prediction below the model's input, as a phone shows the classes far below the drawing. */
function writeAnswer(node, { isEmpty, header, arrays, top }) {
  if (!arrays.probabilities) return;
  const answer = el(node, 'div', { class: 'mp-answer', translate: 'no' }, isEmpty ? 'Draw a digit' : 'prediction');
  if (isEmpty) return;
  el(answer, 'strong', {}, header.classes.names[top]);
  el(answer, 'span', {}, percent(arrays.probabilities.data[top]));
}

function blockLines(part, model) {
  const { attention, mlp, out } = model.lengths(part, model.readout);
  const lines = [
    ['mp-words mp-gives', `attention +${attention.toFixed(1)}`],
    ['mp-words mp-adds', `MLP +${mlp.toFixed(1)}`],
    ['mp-words', `length ${out.toFixed(1)}`],
  ];
  const { lens } = model.arrays;
  if (!lens || model.isEmpty) return lines;
  const share = percent(lens.data[part.layer * lens.shape[1] + model.top]);
  return [...lines, ['mp-words', `prediction ${model.header.classes.names[model.top]} ${share}`]];
}

/** Write the tensor shapes on the arrows. */
export function buildShapes(bands, { model, plan }) {
  if (plan.narrow) return;
  const write = (band, text, x, y, more = '') =>
    put(el(bands[band], 'span', { class: `mp-shape ${more}`.trim(), 'aria-hidden': 'true' }, text), { x, y });
  for (const { from, band, x, y, w } of plan.arrows)
    write(band, shapeWords(model.byId.get(from).shape_out), x + w / 2, y - 8);
  for (const part of model.flow.filter(({ kind }) => kind === 'merge')) {
    const { tile, band } = plan.boxes[part.id];
    write(band, shapeWords(part.shape_out), tile.x + tile.w / 2, tile.y + tile.h + 18);
  }
  if (!plan.core) return;
  const last = model.intro.at(-1);
  write('core', shapeWords(last.shape_out), plan.boxes[last.id].tile.x - 40, 8 - RETURN, 'mp-on-line');
  const { norm } = plan.boxes;
  const reads = model.byId.get('head')?.shape_in;
  if (norm && reads) write('core', shapeWords(reads), norm.tile.x + 4, norm.tile.y - 10, 'mp-on-line');
}

// Arrays of parts that depend on the model alone: their many small images are painted once, not at every stroke.
const OF_THE_MODEL = { embed: 'filters', positions: 'cosine' };

/** Paint the tiles; `live`: for another drawing, whose strokes the pen itself has painted. */
export function paintParts(parts, view, live = false) {
  for (const entry of parts.values())
    if (!isPainted(entry, view) && !(live && entry.part.kind === 'picture' && view.pad.free))
      paintPart(entry.view, entry.part, entry.box, view);
}

/** Return true if a part's tile shows these values already. */
function isPainted(entry, { model, colors }) {
  const name = OF_THE_MODEL[entry.part.kind];
  const values = name && model.array(entry.part, name)?.data;
  const { painted, mode } = entry;
  Object.assign(entry, { painted: values, mode: colors.mode });
  if (!values || !painted || mode !== colors.mode || painted.length !== values.length) return false;
  return values.every((value, i) => value === painted[i]);
}

export function paintPart(board, part, box, view, more = {}) {
  const lift = box.lift ?? 0;
  const ctx = board.size(box.tile.w, box.tile.h + lift);
  PAINTERS[part.kind]?.(ctx, box.tile.w, box.tile.h + lift, { ...view, part, box, ...more });
}

// ------------------------------------------------------------ labels

/** Create the labels of stream and curves in the band of blocks (null if not shown). */
export function sceneLabels(band, { core, narrow, boxes }) {
  if (!core || narrow) return { stream: null, curves: null };
  const note = (x, y, kind = '') => {
    const label = el(band, 'span', { class: `mp-note ${kind}`, 'aria-hidden': 'true' });
    put(label, { x, y });
    return label;
  };
  const line = core.lines.at(-1);
  return {
    stream: note(boxes[core.lines[0].ids[0]].tile.x, -20),
    curves: line.lens ? note(boxes[line.ids[0]].tile.x, core.lines[0].lens.y - 18, 'mp-finding') : null,
  };
}

/** Name the token whose stream is drawn, and the classes that have a curve. */
export function writeLabels({ stream, curves }, model, name) {
  const write = (label, words) => label && setText(label, words);
  const added = '+ number: length of the added vector';
  write(
    stream,
    `Orange attention or positive, blue negative, grey MLP · ${added} · thicker line: longer ${name} vector`,
  );
  if (!curves || model.isEmpty) return write(curves, 'Draw a digit');
  const [top, ...others] = lensClasses(model);
  const names = others.map((k) => model.header.classes.names[k]);
  const grey = names.length ? `. Grey: ${names.join(', ')}` : '';
  const { data, shape } = model.arrays.lens; // layer 0 is before the first block
  const shares = Array.from({ length: shape[0] }, (_, layer) => data[layer * shape[1] + top]);
  const changes = shares.map((share, layer) => (layer ? Math.abs(share - shares[layer - 1]) : -1));
  const layer = changes.indexOf(Math.max(...changes));
  const best = `class ${model.header.classes.names[top]} would have ${percent(shares[layer - 1])}`;
  write(curves, `If the model stopped before layer ${layer}, ${best}; after it, ${percent(shares[layer])}${grey}`);
}
