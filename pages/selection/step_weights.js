// While the sidebar's step is dragged, tell the views of the page the address of each step's weights ('step' on the bus).

import { tell } from '../../vitviz/browser/kit/bus.js';
import { watchSlider } from '../controls/slider.js';

export default class StepWeights {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, addresses: new Map() });
    root.style.height = '0';
    this.slider = watchSlider('step', (index) => this.show(this.header.steps[index]));
    onUnmount(() => this.slider.end());
  }

  update({ header }, fresh) {
    if (!fresh) return;
    if (header.model !== this.header?.model) this.addresses.clear();
    this.header = header;
    for (const [step, address] of Object.entries(header.weights)) this.addresses.set(Number(step), address);
    this.slider.attach();
    if (this.wanted !== undefined && header.reply) this.show(this.wanted);
    else this.wanted = undefined;
  }

  /** Tell the address of a step's weights, or ask the server for it. */
  show(step) {
    const address = this.addresses.get(step);
    if (!address) {
      if (this.wanted !== step) this.trigger('weights', step);
      this.wanted = step;
      return;
    }
    this.wanted = undefined;
    tell('step', this.root, { model: this.header.model, step, address });
  }
}
