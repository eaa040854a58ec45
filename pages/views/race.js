// A race of models: accuracy over epochs, each line named at its end; beside it whole against shuffled pictures.

import { canvas, el, live, tooltip } from './kit/dom.js';
import { gridNavigation } from './kit/grid.js';

class Race {
  constructor({ root }) {
    this.root = root;
    this.build();
    this.listen();
  }

  build() {
    this.stage = el(this.root, 'div', { class: 'ra-stage' });
    this.left = el(this.stage, 'div');
    this.right = el(this.stage, 'div');
    el(this.left, 'div', { class: 'ra-title' }, 'Accuracy while training');
    el(this.left, 'div', { class: 'ra-note' }, 'on validation pictures, which no model is trained on');
    this.curves = canvas(this.left, { class: 'ra-curves' });
    el(this.right, 'div', { class: 'ra-title' }, 'Whole, and with shuffled patches');
    this.note = el(this.right, 'div', { class: 'ra-note' });
    this.pairs = canvas(this.right, { role: 'img' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    this.now = null;
    this.epochs = [];
    this.hovered = -1;
    this.PLOT = { left: 44, top: 8, bottom: 40 };
    this.area = null;
  }

  listen() {
    gridNavigation(this.curves.node, {
      label: 'Accuracy over epochs',
      rows: () => 1,
      cols: () => Math.max(1, this.epochs.length),
      cellAt: (x) => {
        if (!this.area || !this.epochs.length) return -1;
        let best = 0;
        this.epochs.forEach((epoch, k) => {
          if (Math.abs(this.area.x(epoch) - x) < Math.abs(this.area.x(this.epochs[best]) - x)) best = k;
        });
        return best;
      },
      hover: (i, event) => {
        this.hovered = i;
        this.area = this.drawCurves(this.curves.width);
        if (i < 0 || i >= this.epochs.length) return this.tip.hide();
        const text = [`epoch ${+this.epochs[i].toPrecision(3)}`, ...this.valuesAt(this.epochs[i])];
        this.say(text.join(', '));
        const box = this.curves.node.getBoundingClientRect();
        const base = this.root.getBoundingClientRect();
        const y = event?.clientY !== undefined ? event.clientY - base.top : box.top - base.top + 120;
        this.tip.show(box.left - base.left + this.area.x(this.epochs[i]), y, text.join('\n'));
      },
    });
  }

  percent(share, digits = 1) {
    return `${+(100 * share).toFixed(digits) === 100 ? '100' : (100 * share).toFixed(digits)} %`;
  }

  curve(i) {
    const {
      data,
      shape: [, n],
    } = this.now.arrays[`curve${i}`];
    return { n, x: (k) => data[k], y: (k) => data[n + k] };
  }

  frame(ctx, colors, area, yTicks) {
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    ctx.lineWidth = 1;
    for (const share of yTicks) {
      const y = Math.round(area.y(share)) + 0.5;
      ctx.strokeStyle = colors.line;
      ctx.beginPath();
      ctx.moveTo(area.x0, y);
      ctx.lineTo(area.x1, y);
      ctx.stroke();
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'right';
      ctx.fillText(`${Math.round(100 * share)}`, area.x0 - 8, y);
    }
  }

  dotted(ctx, colors, x0, y0, x1, y1) {
    ctx.strokeStyle = colors.muted;
    ctx.lineWidth = 1;
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  /** Label heights at least `gap` apart, as near to where they belong as can be. */
  spread(wanted, gap, low, high) {
    const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
    const placed = [...wanted];
    order.forEach((i, k) => {
      placed[i] = Math.max(placed[i], k ? placed[order[k - 1]] + gap : low);
    });
    for (let k = order.length - 1, limit = high; k >= 0; k--) {
      placed[order[k]] = Math.min(placed[order[k]], limit);
      limit = placed[order[k]] - gap;
    }
    return placed;
  }

  drawCurves(width) {
    const { header, colors } = this.now;
    const height = width < 460 ? 300 : 360;
    const ctx = this.curves.size(width, height);
    ctx.font = `13px ${colors.font}`;
    const names = header.racers.map((racer) => racer.title);
    const margin = Math.ceil(Math.max(...names.map((name) => ctx.measureText(name).width))) + 28;
    const x0 = this.PLOT.left;
    const x1 = width - margin;
    const y0 = this.PLOT.top;
    const y1 = height - this.PLOT.bottom;
    const area = {
      x0,
      x1,
      x: (epoch) => x0 + ((x1 - x0) * epoch) / header.epochs,
      y: (share) => y1 - (y1 - y0) * share,
    };
    this.frame(ctx, colors, area, [0, 0.25, 0.5, 0.75, 1]);
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'center';
    const step = this.niceStep(header.epochs / Math.max(2, Math.min(6, (x1 - x0) / 60)));
    for (let epoch = 0; epoch <= header.epochs + 1e-9; epoch += step)
      ctx.fillText(String(+epoch.toPrecision(4)), area.x(epoch), y1 + 14);
    ctx.fillText('epochs of training', (x0 + x1) / 2, height - 8);
    ctx.save();
    ctx.translate(10, (y0 + y1) / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText('accuracy, %', 0, 0);
    ctx.restore();
    this.dotted(ctx, colors, x0, area.y(header.chance), x1, area.y(header.chance));
    ctx.textAlign = 'right';
    ctx.fillText(`chance ${this.percent(header.chance, 0)}`, x1 - 8, area.y(header.chance) + 12);
    const ends = [];
    header.racers.forEach((racer, i) => {
      const line = this.curve(i);
      if (!line.n) return;
      ctx.strokeStyle = racer.color;
      ctx.lineWidth = 2.5;
      ctx.lineJoin = 'round';
      ctx.beginPath();
      for (let k = 0; k < line.n; k++) ctx.lineTo(area.x(line.x(k)), area.y(line.y(k)));
      ctx.stroke();
      const end = { i, x: area.x(line.x(line.n - 1)), y: area.y(line.y(line.n - 1)) };
      ctx.fillStyle = racer.color;
      ctx.beginPath();
      ctx.arc(end.x, end.y, 4, 0, 7);
      ctx.fill();
      ends.push(end);
    });
    const places = this.spread(
      ends.map((end) => end.y),
      18,
      y0 + 6,
      y1 - 6,
    );
    ctx.font = `13px ${colors.font}`;
    ctx.textAlign = 'left';
    ends.forEach((end, k) => {
      const racer = header.racers[end.i];
      const x = Math.min(x1, end.x);
      ctx.strokeStyle = racer.color;
      ctx.globalAlpha = 0.6;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(x + 5, end.y);
      ctx.lineTo(x + 15, places[k]);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.fillStyle = colors.paper;
      ctx.fillRect(x + 17, places[k] - 8, ctx.measureText(racer.title).width + 4, 16);
      ctx.fillStyle = colors.ink;
      ctx.fillText(racer.title, x + 19, places[k]);
    });
    if (!ends.length) {
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'center';
      ctx.fillText(header.waiting, (x0 + x1) / 2, area.y(0.625));
    }
    if (this.hovered >= 0 && this.hovered < this.epochs.length) {
      const x = Math.round(area.x(this.epochs[this.hovered])) + 0.5;
      ctx.strokeStyle = colors.muted;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(x, y0);
      ctx.lineTo(x, y1);
      ctx.stroke();
    }
    return area;
  }

  drawPairs(width) {
    const { header, colors } = this.now;
    const row = 46;
    const height = 24 + row * header.racers.length + this.PLOT.bottom;
    const ctx = this.pairs.size(width, height);
    const x0 = 8;
    const x1 = width - 12;
    const y1 = height - this.PLOT.bottom;
    const x = (share) => x0 + (x1 - x0) * share;
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'center';
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      const at = Math.round(x(share)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(at, 16);
      ctx.lineTo(at, y1);
      ctx.stroke();
      ctx.fillStyle = colors.muted;
      ctx.fillText(String(100 * share), Math.min(at, width - 12), y1 + 14);
    }
    ctx.fillText('accuracy, %     ● whole     ○ patches shuffled', (x0 + x1) / 2, height - 8);
    this.dotted(ctx, colors, x(header.chance), 16, x(header.chance), y1);
    const told = [];
    header.racers.forEach((racer, i) => {
      const y = 24 + row * (i + 0.68);
      ctx.textAlign = 'left';
      ctx.font = `13px ${colors.font}`;
      const label = (text, at, color) => {
        const wide = ctx.measureText(text).width;
        ctx.fillStyle = colors.paper;
        ctx.fillRect(at - 2, y - 27, wide + 4, 16);
        ctx.fillStyle = color;
        ctx.fillText(text, at, y - 19);
        return wide;
      };
      const wide = label(racer.title, x0, colors.ink);
      if (!racer.measured) return;
      const [whole, mixed] = racer.measured;
      label(`${this.percent(whole)}, shuffled ${this.percent(mixed)}`, x0 + wide + 12, colors.muted);
      told.push(`${racer.title} ${this.percent(whole)}, shuffled ${this.percent(mixed)}`);
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 4;
      ctx.beginPath();
      ctx.moveTo(x(mixed), y);
      ctx.lineTo(x(whole), y);
      ctx.stroke();
      ctx.fillStyle = racer.color;
      ctx.beginPath();
      ctx.arc(x(whole), y, 7, 0, 7);
      ctx.fill();
      ctx.strokeStyle = racer.color;
      ctx.lineWidth = 2.5;
      ctx.fillStyle = colors.paper;
      ctx.beginPath();
      ctx.arc(x(mixed), y, Math.abs(x(whole) - x(mixed)) < 6 ? 3.5 : 6, 0, 7);
      ctx.fill();
      ctx.stroke();
    });
    this.pairs.node.setAttribute(
      'aria-label',
      told.length ? `Accuracy on whole pictures and with shuffled patches: ${told.join('; ')}` : header.waiting,
    );
  }

  niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    const unit = rough / power;
    return power * (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1);
  }

  valuesAt(epoch) {
    return this.now.header.racers
      .map((racer, i) => {
        const line = this.curve(i);
        let best = -1;
        for (let k = 0; k < line.n; k++) if (line.x(k) <= epoch + 1e-6) best = k;
        return best < 0 ? null : `${racer.title} ${this.percent(line.y(best))}`;
      })
      .filter(Boolean);
  }

  update(message) {
    this.now = message;
    const { header, width } = this.now;
    const stacked = width < 720;
    const places = new Set();
    header.racers.forEach((_, i) => {
      const line = this.curve(i);
      for (let k = 0; k < line.n; k++) places.add(line.x(k));
    });
    this.epochs = [...places].sort((a, b) => a - b);
    if (this.hovered >= this.epochs.length) {
      this.hovered = -1;
      this.tip.hide();
    }
    const wide = stacked ? width : Math.round((width - 24) * 0.6);
    this.left.style.width = `${wide}px`;
    this.right.style.width = `${stacked ? width : width - 24 - wide}px`;
    this.note.textContent = header.images
      ? `${header.images.toLocaleString('en')} ${header.split} pictures, after ${+header.at.toPrecision(3)} epochs`
      : 'measured at every snapshot and at the end';
    this.area = this.drawCurves(wide);
    this.drawPairs(stacked ? width : width - 24 - wide);
  }
}

export default function race(context) {
  const view = new Race(context);
  return (message) => view.update(message);
}
