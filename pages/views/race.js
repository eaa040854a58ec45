// A race of models: accuracy over epochs, each line named at its end; beside it whole against shuffled pictures.

import { canvas, el, live, tooltip } from './kit/dom.js';
import { gridNavigation } from './kit/grid.js';

export default function race({ root }) {
  const stage = el(root, 'div', { class: 'ra-stage' });
  const left = el(stage, 'div'),
    right = el(stage, 'div');
  el(left, 'div', { class: 'ra-title' }, 'Accuracy while training');
  el(left, 'div', { class: 'ra-note' }, 'on validation pictures, which no model is trained on');
  const curves = canvas(left, { class: 'ra-curves' });
  el(right, 'div', { class: 'ra-title' }, 'Whole, and with shuffled patches');
  const note = el(right, 'div', { class: 'ra-note' });
  const pairs = canvas(right, { role: 'img' });
  const tip = tooltip(root),
    say = live(root);
  let now = null,
    epochs = [],
    hovered = -1;

  const percent = (share, digits = 1) =>
    `${+(100 * share).toFixed(digits) === 100 ? '100' : (100 * share).toFixed(digits)} %`;
  const curve = (i) => {
    const {
      data,
      shape: [, n],
    } = now.arrays[`curve${i}`];
    return { n, x: (k) => data[k], y: (k) => data[n + k] };
  };
  const PLOT = { left: 44, top: 8, bottom: 40 };

  function frame(ctx, colors, area, yTicks) {
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

  function dotted(ctx, colors, x0, y0, x1, y1) {
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
  function spread(wanted, gap, low, high) {
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

  function drawCurves(width) {
    const { header, colors } = now,
      height = width < 460 ? 300 : 360;
    const ctx = curves.size(width, height);
    ctx.font = `13px ${colors.font}`;
    const names = header.racers.map((racer) => racer.title);
    const margin = Math.ceil(Math.max(...names.map((name) => ctx.measureText(name).width))) + 28;
    const x0 = PLOT.left,
      x1 = width - margin,
      y0 = PLOT.top,
      y1 = height - PLOT.bottom;
    const area = {
      x0,
      x1,
      x: (epoch) => x0 + ((x1 - x0) * epoch) / header.epochs,
      y: (share) => y1 - (y1 - y0) * share,
    };
    frame(ctx, colors, area, [0, 0.25, 0.5, 0.75, 1]);
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'center';
    const step = niceStep(header.epochs / Math.max(2, Math.min(6, (x1 - x0) / 60)));
    for (let epoch = 0; epoch <= header.epochs + 1e-9; epoch += step)
      ctx.fillText(String(+epoch.toPrecision(4)), area.x(epoch), y1 + 14);
    ctx.fillText('epochs of training', (x0 + x1) / 2, height - 8);
    ctx.save();
    ctx.translate(10, (y0 + y1) / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText('accuracy, %', 0, 0);
    ctx.restore();
    dotted(ctx, colors, x0, area.y(header.chance), x1, area.y(header.chance));
    ctx.textAlign = 'right';
    ctx.fillText(`chance ${percent(header.chance, 0)}`, x1 - 8, area.y(header.chance) + 12);
    const ends = [];
    header.racers.forEach((racer, i) => {
      const line = curve(i);
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
    const places = spread(
      ends.map((end) => end.y),
      18,
      y0 + 6,
      y1 - 6,
    );
    ctx.font = `13px ${colors.font}`;
    ctx.textAlign = 'left';
    ends.forEach((end, k) => {
      const racer = header.racers[end.i],
        x = Math.min(x1, end.x);
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
    if (hovered >= 0 && hovered < epochs.length) {
      const x = Math.round(area.x(epochs[hovered])) + 0.5;
      ctx.strokeStyle = colors.muted;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(x, y0);
      ctx.lineTo(x, y1);
      ctx.stroke();
    }
    return area;
  }

  function drawPairs(width) {
    const { header, colors } = now,
      row = 46,
      height = 24 + row * header.racers.length + PLOT.bottom;
    const ctx = pairs.size(width, height),
      x0 = 8,
      x1 = width - 12,
      y1 = height - PLOT.bottom;
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
    dotted(ctx, colors, x(header.chance), 16, x(header.chance), y1);
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
      label(`${percent(whole)}, shuffled ${percent(mixed)}`, x0 + wide + 12, colors.muted);
      told.push(`${racer.title} ${percent(whole)}, shuffled ${percent(mixed)}`);
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
    pairs.node.setAttribute(
      'aria-label',
      told.length ? `Accuracy on whole pictures and with shuffled patches: ${told.join('; ')}` : header.waiting,
    );
  }

  function niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough)),
      unit = rough / power;
    return power * (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1);
  }

  function valuesAt(epoch) {
    return now.header.racers
      .map((racer, i) => {
        const line = curve(i);
        let best = -1;
        for (let k = 0; k < line.n; k++) if (line.x(k) <= epoch + 1e-6) best = k;
        return best < 0 ? null : `${racer.title} ${percent(line.y(best))}`;
      })
      .filter(Boolean);
  }

  let area = null;
  gridNavigation(curves.node, {
    label: 'Accuracy over epochs',
    rows: () => 1,
    cols: () => Math.max(1, epochs.length),
    cellAt: (x) => {
      if (!area || !epochs.length) return -1;
      let best = 0;
      epochs.forEach((epoch, k) => {
        if (Math.abs(area.x(epoch) - x) < Math.abs(area.x(epochs[best]) - x)) best = k;
      });
      return best;
    },
    hover(i, event) {
      hovered = i;
      area = drawCurves(curves.width);
      if (i < 0 || i >= epochs.length) return tip.hide();
      const text = [`epoch ${+epochs[i].toPrecision(3)}`, ...valuesAt(epochs[i])];
      say(text.join(', '));
      const box = curves.node.getBoundingClientRect(),
        base = root.getBoundingClientRect();
      const y = event?.clientY !== undefined ? event.clientY - base.top : box.top - base.top + 120;
      tip.show(box.left - base.left + area.x(epochs[i]), y, text.join('\n'));
    },
  });

  return (message) => {
    now = message;
    const { header, width } = now,
      stacked = width < 720;
    const places = new Set();
    header.racers.forEach((_, i) => {
      const line = curve(i);
      for (let k = 0; k < line.n; k++) places.add(line.x(k));
    });
    epochs = [...places].sort((a, b) => a - b);
    if (hovered >= epochs.length) {
      hovered = -1;
      tip.hide();
    }
    const wide = stacked ? width : Math.round((width - 24) * 0.6);
    left.style.width = `${wide}px`;
    right.style.width = `${stacked ? width : width - 24 - wide}px`;
    note.textContent = header.images
      ? `${header.images.toLocaleString('en')} ${header.split} pictures, after ${+header.at.toPrecision(3)} epochs`
      : 'measured at every snapshot and at the end';
    area = drawCurves(wide);
    drawPairs(stacked ? width : width - 24 - wide);
  };
}
