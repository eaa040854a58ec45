// Choose the colour scale of the layers' attention maps: one per layer (default), or one for all layers.

import { button, el } from '../../vitviz/browser/kit/dom.js';
import { percent } from '../../vitviz/browser/kit/words.js';

/** Return [minimum, maximum] of a block's attention map; the minimum is 0 except for window attention. */
function rangeOf(model, block) {
  const patches = model.row(block).subarray(block.prefix.length);
  const least = block.row_of === 'received' ? patches.reduce((a, b) => Math.min(a, b), Infinity) : 0;
  return [least, patches.reduce((a, b) => Math.max(a, b), 0)];
}

/** Return the colour range of a block: its own, or that of all blocks. */
export function shownRange(model, block, one) {
  if (!one) return rangeOf(model, block);
  const ranges = model.blocks.map((each) => rangeOf(model, each));
  return [Math.min(...ranges.map(([least]) => least)), Math.max(...ranges.map(([, most]) => most))];
}

function scaleWords(model, one) {
  const tops = model.blocks.map((block) => rangeOf(model, block)[1]);
  const [low, high] = [Math.min(...tops), Math.max(...tops)].map((top) => percent(top));
  if (one) return `All layers share one colour scale, up to ${high}.`;
  return `Each layer has its own colour scale, up to its largest weight (${low} to ${high}).`;
}

/** The sentence under the map with the button that changes the scale; `changed` runs after a click. */
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
    this.button.textContent = this.one ? 'Use one scale per layer' : 'Use one scale';
    const label = this.one ? 'Use one colour scale per layer' : 'Use one colour scale for all layers';
    this.button.setAttribute('aria-label', label);
  }
}
