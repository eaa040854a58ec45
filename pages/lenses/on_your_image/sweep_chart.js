// Draw lines over the strength of a change, one per model, with a cursor at the slider's position that can be dragged.

import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { nameMargin, Plot } from '../../../vitviz/browser/kit/plot.js';
import { percent } from '../../../vitviz/browser/kit/text.js';

export class Chart {
  /** go(at, done) receives the strength under the pressed pointer. */
  constructor(parent, title, go) {
    this.box = el(parent, 'div', { class: 'op-chart' });
    this.title = el(this.box, 'div', { class: 'op-title' }, title);
    this.note = el(this.box, 'div', { class: 'op-note vv-muted' });
    this.view = canvas(this.box, { role: 'img' });
    const node = this.view.node;
    const follow = (event, done) => {
      if (!this.plot) return;
      const x = event.clientX - node.getBoundingClientRect().left;
      const at = Math.round(this.plot.x.invert(x / grown(1)));
      go(Math.max(0, Math.min(this.last, at)), done);
    };
    node.onpointerdown = (event) => {
      node.setPointerCapture(event.pointerId);
      follow(event, false);
    };
    node.onpointermove = (event) => {
      if (node.hasPointerCapture(event.pointerId)) follow(event, false);
    };
    node.onpointerup = (event) => follow(event, true);
  }

  /**
   * Draw the lines {name, color, points: [[at, share, kept]], now: share or null}; a stretch that is not `kept` is
   * drawn thin. band: (2, strengths), the lowest and the highest of the lines, in their place. words: of every strength; at: the slider's position; width, height in px.
   */
  draw({ lines, band, words, at, colors, width, height, label }) {
    this.last = words.length - 1;
    const ctx = this.view.size(width, height, grown(1));
    const names = lines.map(({ name }) => name);
    const right = this.view.width - nameMargin(ctx, colors, names);
    const edges = [40, right, 10, this.view.height - 26];
    this.plot = new Plot(ctx, colors, edges, { x: [0, Math.max(1, this.last)] });
    this.plot.axisY([0, 0.5, 1], (share) => percent(share, 0));
    const ticks = [...new Set([0, ...(this.last > 1 ? [Math.round(this.last / 2)] : []), this.last])];
    this.plot.axisX(ticks, (tick) => words[tick], '', { inside: true });
    this.plot.upright(at, colors.muted, 1, [3, 3]);
    if (band) this.band(band);
    else this.plot.nameEnds(lines.map((shown, i) => this.line(shown, i, at)).filter(Boolean), 15);
    this.view.node.setAttribute('aria-label', label);
  }

  band({ data, shape: [, steps] }) {
    this.plot.band([...Array(steps).keys()], data.subarray(0, steps), data.subarray(steps));
  }

  line({ name, color, points, now }, i, at) {
    const bold = points.map(([place, share, kept]) => [place, kept ? share : NaN]);
    const end = this.plot.line(points, i, { color, width: 1 });
    this.plot.line(bold, i, { color });
    if (now !== null) this.plot.dot(this.plot.x(at), this.plot.y(now), 4.5, color);
    return end && { ...end, name, column: this.plot.x1 };
  }
}
