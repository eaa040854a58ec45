// Draw the race: validation accuracy of every seed (thin) and their mean (thick), and the final test accuracies.

import { dot, levels, line, niceStep, spread, stroke, upwards } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameLines } from '../../../vitviz/browser/kit/grid.js';
import { percent } from '../../../vitviz/browser/kit/words.js';

const PLOT = { left: 52, top: 12, bottom: 40 };
const SHARES = [0, 0.25, 0.5, 0.75, 1];
const HEIGHT = 320;
const ROW = 84;

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

class Learning {
  constructor({ root }) {
    this.root = root;
    this.stage = el(root, 'div', { class: 'le-stage' });
    [this.left, this.right] = [el(this.stage, 'div'), el(this.stage, 'div')];
    el(this.left, 'div', { class: 'le-title' }, 'Validation accuracy');
    el(this.left, 'div', { class: 'le-note' }, 'on validation images; thick: mean over seeds');
    this.curves = canvas(this.left, { class: 'le-curves' });
    el(this.right, 'div', { class: 'le-title' }, 'Test accuracy');
    this.note = el(this.right, 'div', { class: 'le-note' });
    this.ends = canvas(this.right, { role: 'img' });
    this.tip = tooltip(root);
    this.announce = live(root);
    this.epochs = [];
    this.hovered = -1;
    this.listen();
  }

  listen() {
    gridNavigation(this.curves.node, {
      label: 'Accuracy over epochs',
      rows: () => 1,
      cols: () => Math.max(1, this.epochs.length),
      cellAt: (x) => this.nearest(x),
      hover: (i, event) => {
        this.hovered = i;
        this.drawCurves(this.curves.width);
        if (i < 0 || i >= this.epochs.length) return this.tip.hide();
        const text = [`epoch ${+this.epochs[i].toPrecision(3)}`, ...this.valuesAt(this.epochs[i])];
        this.announce(text.join(', '));
        const [box, base] = [this.curves.node.getBoundingClientRect(), this.root.getBoundingClientRect()];
        const y = event?.clientY !== undefined ? event.clientY - base.top : box.top - base.top + 100;
        this.tip.show(box.left - base.left + this.area.x(this.epochs[i]), y, text.join('\n'));
      },
    });
  }

  nearest(x) {
    let best = this.epochs.length ? 0 : -1;
    this.epochs.forEach((epoch, k) => {
      if (Math.abs(this.area.x(epoch) - x) < Math.abs(this.area.x(this.epochs[best]) - x)) best = k;
    });
    return best;
  }

  /** Return the points [epoch, share] of one curve. */
  points(name) {
    const { data, shape } = this.message.arrays[name];
    const n = shape[1];
    return Array.from({ length: n }, (_, k) => [data[k], data[n + k]]);
  }

  valuesAt(epoch) {
    return this.message.header.groups
      .map(({ title }, i) => {
        const before = this.points(`mean${i}`).filter(([at]) => at <= epoch + 1e-6);
        return before.length ? `${title} ${percent(before.at(-1)[1])}` : null;
      })
      .filter(Boolean);
  }

  drawCurves(width) {
    const { header, colors } = this.message;
    const ctx = this.curves.size(width, HEIGHT);
    ctx.font = `13px ${colors.font}`;
    const names = header.groups.map(({ title }) => ctx.measureText(title).width);
    const [x0, x1, y0, y1] = [PLOT.left, width - Math.ceil(Math.max(...names)) - 26, PLOT.top, HEIGHT - PLOT.bottom];
    const area = { x: (e) => x0 + ((x1 - x0) * e) / header.epochs, y: (share) => y1 - (y1 - y0) * share };
    this.area = area;
    ctx.font = `12px ${colors.font}`;
    levels(ctx, colors, { ticks: SHARES, y: area.y, x0, x1, word: (share) => `${100 * share}` });
    upwards(ctx, 'accuracy, %', 10, (y0 + y1) / 2);
    this.drawEpochs(ctx, x1, y1);
    line(ctx, colors.muted, 1, x0, area.y(header.chance), x1, area.y(header.chance), [2, 3]);
    if (this.epochs[this.hovered] !== undefined) {
      const at = area.x(this.epochs[this.hovered]);
      line(ctx, colors.muted, 1, at, y0, at, y1);
    }
    this.nameEnds(ctx, header.groups.map((group, i) => this.drawGroup(ctx, group, i)).filter(Boolean), y0, y1);
    const values = this.epochs.length ? this.valuesAt(this.epochs.at(-1)).join(', ') : header.waiting;
    nameLines(this.curves.node, `Accuracy over epochs: ${values}`);
  }

  drawEpochs(ctx, x1, y1) {
    const { header, colors } = this.message;
    const step = niceStep(header.epochs / 5);
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'center';
    for (let e = 0; e <= header.epochs + 1e-9; e += step)
      ctx.fillText(String(+e.toPrecision(6)), this.area.x(e), y1 + 14);
    ctx.fillText('epochs', (PLOT.left + x1) / 2, HEIGHT - 8);
    if (!this.epochs.length) ctx.fillText(header.waiting, (PLOT.left + x1) / 2, this.area.y(0.625)); // between two lines
  }

  /** Draw one group's curves; return the end of its mean, or null if it has no points. */
  drawGroup(ctx, group, i) {
    ctx.strokeStyle = ctx.fillStyle = group.color;
    ctx.lineJoin = 'round';
    const place = ([epoch, share]) => [this.area.x(epoch), this.area.y(share)];
    ctx.globalAlpha = 0.45;
    ctx.lineWidth = 1.25;
    for (let seed = 0; seed < group.seeds; seed++) stroke(ctx, this.points(`curve${i}_${seed}`).map(place), i);
    ctx.globalAlpha = 1;
    const points = this.points(`mean${i}`).map(place);
    if (!points.length) return null;
    ctx.lineWidth = 3;
    stroke(ctx, points, i);
    const [x, y] = points.at(-1);
    dot(ctx, x, y, 4);
    return { title: group.title, x, y };
  }

  nameEnds(ctx, ends, y0, y1) {
    const { colors } = this.message;
    const places = spread(
      ends.map((end) => end.y),
      18,
      y0 + 6,
      y1 - 6,
    );
    ctx.font = `13px ${colors.font}`;
    ctx.textAlign = 'left';
    ctx.fillStyle = colors.ink;
    ends.forEach(({ title, x }, k) => ctx.fillText(title, x + 12, places[k]));
  }

  /** Draw one row per group: a dot per seed, a bar from the lowest to the highest, a tick at the mean. */
  drawEnds(width) {
    const { header, colors } = this.message;
    const height = 12 + ROW * header.groups.length + PLOT.bottom;
    const ctx = this.ends.size(width, height);
    const x = (share) => 10 + (width - 28) * share;
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    for (const share of SHARES) {
      line(ctx, colors.line, 1, x(share), 6, x(share), height - PLOT.bottom);
      ctx.fillStyle = colors.muted;
      ctx.fillText(String(100 * share), Math.min(x(share), width - 12), height - PLOT.bottom + 14);
    }
    ctx.fillText('accuracy, %', width / 2, height - 8);
    line(ctx, colors.muted, 1, x(header.chance), 6, x(header.chance), height - PLOT.bottom, [2, 3]);
    const descriptions = header.groups.map((group, i) => this.drawEnd(ctx, group, x, 12 + ROW * i)).filter(Boolean);
    this.ends.node.setAttribute('aria-label', `Test accuracy: ${descriptions.join('; ') || 'not measured yet'}`);
  }

  drawEnd(ctx, { title, tests, color }, x, top) {
    const { colors } = this.message;
    ctx.textAlign = 'left';
    ctx.font = `13px ${colors.font}`;
    const label = tests.length ? `${title} ${percent(mean(tests))}` : title;
    const labelWidth = ctx.measureText(label).width;
    ctx.fillStyle = colors.paper;
    ctx.fillRect(x(0) - 2, top, labelWidth + 4, 18);
    ctx.fillStyle = colors.ink;
    ctx.fillText(label, x(0), top + 9);
    if (!tests.length) return null;
    const y = top + 44;
    line(ctx, colors.line, 6, x(Math.min(...tests)), y, x(Math.max(...tests)), y);
    ctx.fillStyle = color;
    for (const test of tests) dot(ctx, x(test), y, 6);
    line(ctx, colors.ink, 2, x(mean(tests)), y - 12, x(mean(tests)), y + 12);
    return `${label}, from ${percent(Math.min(...tests))} to ${percent(Math.max(...tests))}`;
  }

  update(message) {
    this.message = message;
    const { header, width } = message;
    const all = header.groups.flatMap((_, i) => this.points(`mean${i}`).map(([epoch]) => epoch));
    this.epochs = [...new Set(all)].sort((a, b) => a - b);
    if (this.hovered >= this.epochs.length) {
      this.hovered = -1;
      this.tip.hide();
    }
    const tested = header.groups.some(({ tests }) => tests.length);
    this.note.textContent = tested ? 'one dot per seed; line: mean' : 'evaluated once, after all trainings';
    const stacked = width < 720;
    const wide = stacked ? width : Math.round((width - 24) * 0.62);
    this.left.style.width = `${wide}px`;
    this.right.style.width = `${stacked ? width : width - 24 - wide}px`;
    this.drawCurves(wide);
    this.drawEnds(stacked ? width : width - 24 - wide);
  }
}

export default function learningView(context) {
  const view = new Learning(context);
  return (message) => view.update(message);
}
