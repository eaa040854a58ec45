// Draw lines over the strength of a change, one per model, with a cursor at the slider's position that can be dragged.

import { dot, levels, line, spread, stroke } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el } from '../../../vitviz/browser/kit/dom.js';
import { grown } from '../../../vitviz/browser/kit/grow.js';
import { percent } from '../../../vitviz/browser/kit/words.js';

const PLOT = { left: 36, top: 10, bottom: 26 };

export class Chart {
  /** go(at, done) receives the strength under the pressed pointer. */
  constructor(parent, title, go) {
    this.box = el(parent, 'div', { class: 'op-chart' });
    this.title = el(this.box, 'div', { class: 'op-title' }, title);
    this.note = el(this.box, 'div', { class: 'op-note vv-muted' });
    this.view = canvas(this.box, { role: 'img' });
    const node = this.view.node;
    const follow = (event, done) => {
      if (!this.area) return;
      const x = event.clientX - node.getBoundingClientRect().left;
      const at = Math.round(this.area.at(x));
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
   * Draws the lines: {name, color, points: [[at, share, kept]], now: share or null}; a stretch that is not `kept` is
   * drawn thin. words: the label of every strength; at: the slider's position; width, height in px.
   */
  draw({ lines, words, at, colors, width, height, label }) {
    this.last = words.length - 1;
    const enlarged = grown(1);
    const ctx = this.view.size(width, height, enlarged);
    ctx.font = `12px ${colors.font}`;
    const margin = Math.ceil(Math.max(...lines.map(({ name }) => ctx.measureText(name).width))) + 24;
    const [x0, x1, y0, y1] = [PLOT.left, this.view.width - margin, PLOT.top, this.view.height - PLOT.bottom];
    const x = (place) => x0 + ((x1 - x0) * place) / Math.max(1, this.last);
    const y = (share) => y1 - (y1 - y0) * share;
    this.area = { at: (px) => ((px / enlarged - x0) / (x1 - x0)) * this.last };
    levels(ctx, colors, { ticks: [0, 0.5, 1], y, x0, x1, word: (share) => percent(share, 0) });
    this.ticks(ctx, words, x, y1, colors);
    line(ctx, colors.muted, 1, Math.round(x(at)) + 0.5, y0 - 6, Math.round(x(at)) + 0.5, y1, [3, 3]);
    const ends = lines.map((one, i) => this.line(ctx, one, i, x, y, at)).filter(Boolean);
    this.name(ctx, ends, x1, y0, y1, colors);
    this.view.node.setAttribute('aria-label', label);
  }

  ticks(ctx, words, x, y1, colors) {
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'top';
    const last = words.length - 1;
    for (const [place, align] of [
      [0, 'left'],
      [Math.round(last / 2), 'center'],
      [last, 'right'],
    ]) {
      ctx.textAlign = align;
      if (last > 1 || align !== 'center') ctx.fillText(words[place], x(place), y1 + 8);
    }
  }

  line(ctx, { name, color, points, now }, i, x, y, at) {
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineJoin = 'round';
    for (const bold of [false, true]) {
      ctx.lineWidth = bold ? 2.5 : 1;
      stroke(
        ctx,
        points.map(([place, share, kept]) => [x(place), bold && !kept ? NaN : y(share)]),
        i,
      );
    }
    if (now !== null) dot(ctx, x(at), y(now), 4.5);
    const shown = points.filter(([, share]) => Number.isFinite(share));
    return shown.length ? { name, color, x: x(shown.at(-1)[0]), y: y(shown.at(-1)[1]) } : null;
  }

  name(ctx, ends, x1, y0, y1, colors) {
    const places = spread(
      ends.map((end) => end.y),
      15,
      y0,
      y1 - 4,
    );
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    ends.forEach((end, k) => {
      ctx.globalAlpha = 0.5;
      line(ctx, end.color, 1, end.x + 4, end.y, x1 + 10, places[k]);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colors.ink;
      ctx.fillText(end.name, x1 + 14, places[k]);
    });
  }
}
