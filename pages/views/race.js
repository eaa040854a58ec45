// Draw a race of models (vitviz/plots/race.py): a chart of accuracy over epochs, and beside it one of the results.

import { el, setText } from '../../vitviz/browser/kit/dom.js';
import Chart from './chart.js';

const GAP_PX = 24;
const SIDE_BY_SIDE_PX = 900;
const NARROW_PX = 460;
const NARROW_HIGH_PX = 300; // of the curves

export default class Race {
  constructor({ root }) {
    const stage = el(root, 'div', { class: 'ra-stage' });
    this.parts = [0, 1].map(() => {
      const box = el(stage, 'div');
      const [title, note] = ['ra-title', 'ra-note'].map((name) => el(box, 'div', { class: name }));
      return { box, title, note, chart: new Chart({ root: box }) };
    });
  }

  update({ header, arrays, colors, width }) {
    const { charts, share } = header;
    const isWide = width >= SIDE_BY_SIDE_PX && charts.length > 1;
    const first = isWide ? Math.round((width - GAP_PX) * share) : width;
    const widths = [first, isWide ? width - GAP_PX - first : width];
    const heights = [first < NARROW_PX ? NARROW_HIGH_PX : undefined];
    this.parts.forEach(({ box, title, note, chart }, i) => {
      box.hidden = i >= charts.length;
      if (box.hidden) return;
      box.style.width = `${widths[i]}px`;
      setText(title, charts[i].title);
      setText(note, charts[i].note);
      chart.update({ header: charts[i], arrays, colors, width: widths[i], height: heights[i] });
    });
  }
}
