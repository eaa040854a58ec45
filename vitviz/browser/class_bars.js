// The class probabilities of a model as bars, the most probable first or all of a few classes in their order.

import { el, setCount } from './kit/dom.js';
import { percent } from './kit/text.js';

const MOST = 10;
const SHOWN = 5; // of more classes

export class ClassBars {
  constructor(root) {
    this.root = root;
    this.head = el(root, 'p', { class: 'cb-head', role: 'status' });
    this.table = el(root, 'div', { class: 'cb', role: 'table', 'aria-label': 'Class probabilities' });
    this.rows = [];
  }

  add() {
    const box = el(this.table, 'div', { class: 'cb-row', role: 'row' });
    const name = el(box, 'span', { class: 'cb-name', role: 'rowheader' });
    const bar = el(el(box, 'span', { class: 'cb-track', role: 'presentation' }), 'i');
    return { box, name, bar, value: el(box, 'span', { class: 'cb-value', role: 'cell' }) };
  }

  /** Show a sentence in place of the bars. */
  clear(text) {
    setCount(this.rows, 0);
    this.head.textContent = text;
    delete this.root.dataset.predicted;
  }

  show(classes, probabilities) {
    const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
    const [best] = order;
    const shown = classes.length <= MOST ? [...classes.keys()] : order.slice(0, SHOWN);
    setCount(this.rows, shown.length, () => this.add());
    shown.forEach((k, i) => {
      const { box, name, bar, value } = this.rows[i];
      name.textContent = name.title = classes[k];
      bar.style.width = `${(100 * probabilities[k]).toFixed(1)}%`;
      value.textContent = percent(probabilities[k]);
      box.classList.toggle('cb-best', k === best);
    });
    this.head.textContent = `Predicted class: ${classes[best]}, ${percent(probabilities[best])}`;
    this.root.dataset.predicted = classes[best];
  }
}
