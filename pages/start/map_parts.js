// Build the map's elements: a button and a canvas per part, and tensor shapes on the arrows.

import { button, canvas, el } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../vitviz/browser/kit/grid.js';
import { percent } from '../../vitviz/browser/kit/words.js';
import { RETURN } from './map_layout.js';
import { shapeWords } from './map_model.js';
import { PAINTERS } from './map_tiles.js';
import { partWords } from './map_words.js';

const PINS = new Set(['picture', 'patches', 'prefix', 'positions']);

/** Return a part's title; only the layer's number if the tile is small. */
function titleOf(part, box) {
  if (box.beside || (part.kind === 'norm' && box.w < 80)) return '';
  if (part.kind === 'merge') return 'Merge';
  if (part.kind !== 'block') return part.title;
  return box.w < 52 ? part.title.replace(/^\D+/, '') : part.title;
}

/**
 * Build the parts' elements in their bands.
 *   acts: {open(id, byKey), pin(pin)}
 * Returns Map id -> {node, open, view (canvas), part, box}.
 */
export function buildParts(bands, { model, plan }, acts) {
  const made = new Map();
  const keyed = model.byId.get('patches') ?? model.byId.get('picture');
  for (const part of model.parts) {
    const box = plan.boxes[part.id];
    const node = el(bands[box.band], 'div', { class: `mp-part mp-${part.kind}`, 'data-part': part.id });
    put(node, box);
    const open = button(node, '', (event) => acts.open(part.id, event.detail === 0), { class: 'mp-open' });
    open.setAttribute('aria-label', partWords(part));
    if (part.opens !== false) open.setAttribute('aria-expanded', 'false');
    el(open, 'span', { class: 'mp-title', 'aria-hidden': 'true' }, titleOf(part, box));
    const view = canvas(node, { class: 'mp-tile', 'aria-hidden': 'true' });
    const lift = box.lift ?? 0;
    put(view.node, { x: box.tile.x - box.x, y: box.tile.y - lift - box.y });
    if (PINS.has(part.kind)) tokens(view.node, part, { acts, model, keyed });
    if (box.mlp) mlpOf(node, box);
    if (box.beside) beside(node, part, box, model);
    made.set(part.id, { node, open, view, part, box });
  }
  return made;
}

function put(node, { x, y, w, h }) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px` });
  if (w !== undefined) Object.assign(node.style, { width: `${w}px`, height: `${h}px` });
}

/** Let a click on a tile pin a token instead of opening the part; arrow keys move over one of the tiles. */
function tokens(node, part, { acts, model, keyed }) {
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
    label: `${part.title}: hover over a token to show it in all parts`,
    rows: () => grid[0],
    cols: () => grid[1],
    start: () => Math.max(0, model.tokenAt({ grid, prefix: [] }, model.header.pin)),
    hover: (cell, event) => {
      if (!event || event.type === 'keydown') acts.look(part.id, cell < 0 ? null : pinOf(cell));
    },
    pick: (cell) => acts.pin(pinOf(cell)),
  });
}

function mlpOf(node, box) {
  const glyph = el(node, 'span', { class: 'mp-mlp', 'aria-hidden': 'true' }, box.w < 52 ? '' : 'MLP');
  put(glyph, { x: box.mlp.x - box.x, y: box.mlp.y - box.y, w: box.mlp.w, h: box.mlp.h });
}

/** Write a part's description beside its tile on a phone. */
function beside(node, part, { x, y, beside: place }, model) {
  const text = el(node, 'div', { class: 'mp-beside', 'aria-hidden': 'true' });
  put(text, { x: place.x - x, y: place.y - y });
  text.style.width = `${place.w}px`;
  el(text, 'b', {}, part.title);
  if (part.kind === 'block') return blockBeside(text, part, model);
  el(text, 'span', { class: 'mp-shape-in' }, shapeWords(part.shape_out));
  el(text, 'span', { class: 'mp-words' }, part.words);
}

function blockBeside(text, part, model) {
  const { attention, mlp, out } = model.lengths(part, model.readout);
  el(text, 'span', { class: 'mp-words mp-gives' }, `attention +${attention.toFixed(1)}`);
  el(text, 'span', { class: 'mp-words mp-adds' }, `MLP +${mlp.toFixed(1)}`);
  el(text, 'span', { class: 'mp-words' }, `norm ${out.toFixed(1)}`);
  const { lens } = model.arrays;
  if (!lens) return;
  const share = percent(lens.data[part.layer * lens.shape[1] + model.top]);
  el(text, 'span', { class: 'mp-words' }, `prediction ${model.header.classes.names[model.top]} ${share}`);
}

export function buildShapes(bands, { model, plan }) {
  for (const arrow of plan.arrows) {
    if (plan.narrow) continue;
    const from = model.byId.get(arrow.from);
    const label = el(
      bands[arrow.band],
      'span',
      { class: 'mp-shape', 'aria-hidden': 'true' },
      shapeWords(from.shape_out),
    );
    Object.assign(label.style, { left: `${arrow.x + arrow.w / 2}px`, top: `${arrow.y - 8}px` });
  }
}

export function buildMergeShapes(bands, { model, plan }) {
  if (plan.narrow) return;
  for (const part of model.flow.filter(({ kind }) => kind === 'merge')) {
    const { tile, band } = plan.boxes[part.id];
    const label = el(bands[band], 'span', { class: 'mp-shape', 'aria-hidden': 'true' }, shapeWords(part.shape_out));
    Object.assign(label.style, { left: `${tile.x + tile.w / 2}px`, top: `${tile.y + tile.h + 18}px` });
  }
}

/** Write the shapes on the arrows to the first block and from the LayerNorm to the head. */
export function buildReturnShapes(bands, { model, plan }) {
  if (plan.narrow || !plan.core) return;
  const note = (text, left, top) => {
    const label = el(bands.core, 'span', { class: 'mp-shape mp-on-line', 'aria-hidden': 'true' }, text);
    Object.assign(label.style, { left: `${left}px`, top: `${top}px` });
  };
  const last = model.intro.at(-1);
  note(shapeWords(last.shape_out), plan.boxes[last.id].tile.x - 40, 8 - RETURN);
  const { norm } = plan.boxes;
  const reads = model.byId.get('head')?.shape_in;
  if (norm && reads) note(shapeWords(reads), norm.tile.x + 4, norm.tile.y - 10);
}

export function paintParts(parts, view) {
  for (const { view: board, part, box } of parts.values()) paintPart(board, part, box, view);
}

export function paintPart(board, part, box, view, more = {}) {
  const lift = box.lift ?? 0;
  const ctx = board.size(box.tile.w, box.tile.h + lift);
  PAINTERS[part.kind]?.(ctx, box.tile.w, box.tile.h + lift, { ...view, part, box, ...more });
}
