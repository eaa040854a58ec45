// Find what lies under the pointer on the map, and show its tooltip.

import { el, setText } from '../../vitviz/browser/kit/dom.js';
import { pinAt, showsTokens } from './map_cells.js';
import { tokenWords } from './map_words.js';

/** Let a view follow the pointer over its stage: view.point({id, pin, place}); returns a function that ends it. */
export function listenToPointer(view) {
  const { stage } = view;
  const moved = () => {
    view.rect = null; // the stage's box is cached, because reading it forces a layout
  };
  stage.onpointermove = (event) => view.point(find(view, event));
  stage.onpointerleave = () => view.point({ id: '', pin: null, place: '' });
  stage.onpointerenter = stage.onpointerdown = moved;
  window.addEventListener('scroll', moved, { capture: true, passive: true });
  return () => window.removeEventListener('scroll', moved, { capture: true });
}

/** Return what lies under the pointer; while the animation follows one token, or the pen draws, no other. */
function find(view, event) {
  const part = view.model?.byId.get(event.target.closest?.('[data-part]')?.dataset.part);
  if (!part || view.journey.active || (part.id === 'picture' && view.pad.on)) return { id: '', pin: null, place: '' };
  const pin = showsTokens(part) ? tokenUnder(view, part.id, event) : null;
  return { id: part.id, pin, place: placeUnder(view, part, event) };
}

/** Return the pin of the token under the pointer in a part's tile, or null. */
export function tokenUnder(view, id, event) {
  const { part, box } = view.parts.get(id);
  const { left, top } = (view.rect ??= view.stage.getBoundingClientRect());
  return pinAt(view.model, part, box, event.clientX - left, event.clientY - top - view.offsets[box.band]);
}

/** Return the place of a block under the pointer: attention, residual stream or MLP. */
function placeUnder(view, part, event) {
  if (part.kind !== 'block' || view.plan.narrow) return '';
  const { box } = view.parts.get(part.id);
  const { top } = (view.rect ??= view.stage.getBoundingClientRect());
  const y = event.clientY - top - view.offsets.core;
  if (y < box.tile.y + box.tile.h + 4) return 'attention';
  return y < box.mlp.y - 8 ? 'residual' : 'mlp';
}

/** The tooltip, beside its subject: above the tile of a token, below a part; positioned by CSS alone. */
export class Hint {
  constructor(root, view) {
    this.view = view;
    this.row = el(root, 'div', { class: 'mp-tip-row', 'aria-hidden': 'true' });
    this.room = el(this.row, 'span'); // shrinks if the tooltip would leave the view
    this.node = el(this.row, 'div', { class: 'vv-tip' });
  }

  show({ id, pin }) {
    const { model, plan, offsets, top } = this.view;
    const part = model?.byId.get(id);
    this.node.style.visibility = part ? 'visible' : 'hidden';
    if (!part) return;
    const { x, y, h } = this.view.frameOf(id);
    const { tile, lift = 0, band } = plan.boxes[id];
    const words = pin ? tokenWords(model, part, pin) : part.words;
    setText(this.node, words);
    this.room.style.flexBasis = `${x + 4}px`;
    this.row.style.transform = pin
      ? `translateY(calc(${top + offsets[band] + tile.y - lift - 6}px - 100%))`
      : `translateY(${top + y + h + 8}px)`;
  }
}
