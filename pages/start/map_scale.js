// How the layers' maps are coloured: each on its own scale, as the map opens, or all on one, so that colours compare.

import { button, el } from '../views/kit/dom.js';
import { percent } from '../views/kit/words.js';

/** [least, greatest] weight on a patch that a block's tile shows; what windows give begins at its least, else at 0. */
function rangeOf(model, block) {
  const patches = model.row(block).subarray(block.prefix.length);
  const least = block.row_of === 'received' ? patches.reduce((a, b) => Math.min(a, b), Infinity) : 0;
  return [least, patches.reduce((a, b) => Math.max(a, b), 0)];
}

/** The range of a block's tile: its own, or that of all of them. */
export function shownRange(model, block, one) {
  if (!one) return rangeOf(model, block);
  const ranges = model.blocks.map((each) => rangeOf(model, each));
  return [Math.min(...ranges.map(([least]) => least)), Math.max(...ranges.map(([, most]) => most))];
}

/** What the colours say, from the map's own numbers. */
function scaleWords(model, one) {
  const tops = model.blocks.map((block) => rangeOf(model, block)[1]);
  const [low, high] = [Math.min(...tops), Math.max(...tops)].map((top) => percent(top));
  if (one) return `The layers' maps share one scale, up to ${high}: their colours compare.`;
  return `Each layer's map has its own scale, up to its strongest weight (${low} to ${high}): colours do not compare between layers.`;
}

/** The sentence under the map and the button that changes the scale; `changed` runs then. */
export class Scale {
  constructor(parent, changed) {
    this.one = false;
    this.node = el(parent, 'p', { class: 'mp-scale' });
    this.words = el(this.node, 'span');
    this.button = button(this.node, '', () => {
      this.one = !this.one;
      this.draw(this.model);
      changed();
    });
  }

  draw(model) {
    this.model = model;
    this.node.hidden = model.blocks.length < 2;
    if (this.node.hidden) return;
    this.words.textContent = scaleWords(model, this.one);
    this.button.textContent = this.one ? 'Own scales' : 'One scale';
    this.button.setAttribute('aria-label', this.one ? 'Each map on its own scale' : 'All maps on one scale');
  }
}
