// Heads against depth: a dot per head, its reach around the query under the pointer, training time as a slider.

import { canvas, el, live } from '../../views/kit/dom.js';
import { animate } from '../../views/kit/motion.js';
import { blit, heat } from '../../views/kit/pixels.js';
import { SEQUENTIAL_LUT, headColor } from '../../views/kit/ramp.js';

export default function headDistance({ root, trigger, onUnmount }) {
  const stage = el(root, 'div', { class: 'hd-stage' });
  const plotBox = el(stage, 'div', { class: 'hd-plot' });
  const plot = canvas(plotBox);
  const side = el(stage, 'div', { class: 'hd-side' });
  const title = el(side, 'div', { class: 'hd-title' });
  const map = canvas(side, { 'aria-hidden': 'true' });
  const legend = el(side, 'div', { class: 'hd-legend' });
  el(legend, 'span', {}, '0');
  const ramp = canvas(legend, { 'aria-hidden': 'true' });
  const peak = el(legend, 'span');
  const note = el(side, 'div', { class: 'hd-note' });
  const time = el(root, 'div', { class: 'hd-time' });
  const play = el(time, 'button', { type: 'button', class: 'hd-play', 'aria-label': 'Play through training' }, '▶');
  const slider = el(time, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Training step' });
  const stepText = el(time, 'output', { class: 'hd-step' });
  const say = live(root);
  let now = null,
    step = 0,
    place = 0,
    picked = { series: 0, layer: 0, head: 0 },
    stopMotion = () => {},
    dots = [],
    playing = 0,
    message = null;

  const shape = () => now.arrays.values0.shape; // steps, layers, heads
  const at = (name, s, layer, head) => {
    const {
      data,
      shape: [, layers, heads],
    } = now.arrays[name];
    return data[(s * layers + layer) * heads + head];
  };
  /** A value between snapshots, so that a dot glides instead of jumping. */
  const value = (name, layer, head) => {
    const low = Math.floor(place),
      high = Math.min(low + 1, shape()[0] - 1),
      t = place - low;
    return (1 - t) * at(name, low, layer, head) + t * at(name, high, layer, head);
  };

  function scale() {
    let top = 0;
    now.header.series.forEach((_, i) => {
      for (const v of now.arrays[`values${i}`].data) if (v > top) top = v;
    }); // never a NaN
    for (const line of now.header.lines) top = Math.max(top, line.value);
    return top * 1.06 || 1;
  }

  function draw() {
    if (!now) return;
    const { colors, header } = now,
      [, layers, heads] = shape();
    const narrow = now.width < 640,
      width = narrow ? now.width : Math.round(now.width * 0.66);
    const height = narrow ? 320 : 400;
    const ctx = plot.size(width, height),
      left = 48,
      right = 12,
      top = 16,
      bottom = 44;
    const high = scale(),
      w = width - left - right,
      h = height - top - bottom;
    const x = (layer, head) => left + (w * (layer + 0.5 + (heads > 1 ? (head / (heads - 1) - 0.5) * 0.5 : 0))) / layers;
    const y = (v) => top + h * (1 - v / high);
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    const tick = niceStep(high / 4);
    for (let v = 0; v <= high; v += tick) {
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, Math.round(y(v)) + 0.5);
      ctx.lineTo(width - right, Math.round(y(v)) + 0.5);
      ctx.stroke();
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'right';
      ctx.fillText(String(+v.toPrecision(4)), left - 8, y(v));
    }
    ctx.textAlign = 'center';
    ctx.fillStyle = colors.muted;
    const every = Math.ceil(layers / Math.max(1, Math.floor(w / 28)));
    for (let layer = 0; layer < layers; layer += every)
      ctx.fillText(String(layer + 1), left + (w * (layer + 0.5)) / layers, height - bottom + 16);
    ctx.fillText('layer', left + w / 2, height - 8);
    ctx.save();
    ctx.translate(12, top + h / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(header.axis, 0, 0);
    ctx.restore();
    const labels = [];
    for (const line of header.lines) {
      ctx.strokeStyle = colors.muted;
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(left, y(line.value));
      ctx.lineTo(width - right, y(line.value));
      ctx.stroke();
      ctx.setLineDash([]);
      labels.push([line.label, y(line.value)]);
    }
    dots = [];
    for (let s = header.series.length - 1; s >= 0; s--)
      for (let layer = 0; layer < layers; layer++)
        for (let head = 0; head < heads; head++) {
          const v = value(`values${s}`, layer, head),
            d = value(`spread${s}`, layer, head);
          if (Number.isNaN(v)) continue; // a stage with fewer heads
          const px = x(layer, head),
            py = y(v),
            color = headColor(head, heads);
          const chosen = picked.series === s && picked.layer === layer && picked.head === head;
          ctx.strokeStyle = color;
          ctx.fillStyle = color;
          if (s === 0) {
            ctx.globalAlpha = 0.35;
            ctx.lineWidth = 3;
            ctx.beginPath();
            ctx.moveTo(px, y(Math.max(0, v - d)));
            ctx.lineTo(px, y(v + d));
            ctx.stroke();
            ctx.globalAlpha = 1;
            ctx.beginPath();
            ctx.arc(px, py, 5, 0, 7);
            ctx.fill();
          } else {
            ctx.lineWidth = 1.5;
            ctx.globalAlpha = 0.8;
            ctx.beginPath();
            ctx.arc(px, py, 4, 0, 7);
            ctx.stroke();
            ctx.globalAlpha = 1;
          }
          if (chosen) {
            ctx.strokeStyle = colors.ink;
            ctx.lineWidth = 2;
            ctx.beginPath();
            ctx.arc(px, py, 9, 0, 7);
            ctx.stroke();
          }
          dots.push({ series: s, layer, head, x: px, y: py });
        }
    ctx.textAlign = 'left';
    for (const [text, level] of labels) {
      // at that end and side of its line where it hides the fewest dots
      const wide = ctx.measureText(text).width + 8,
        ends = [left + 2, width - right - wide];
      const places = [level - 9, level + 10].flatMap((py) => ends.map((px) => [px, py]));
      const hidden = ([px, py]) =>
        dots.filter((d) => d.x > px - 6 && d.x < px + wide + 6 && Math.abs(d.y - py) < 14).length;
      const [px, py] = places.reduce((best, other) => (hidden(other) < hidden(best) ? other : best));
      ctx.globalAlpha = 0.8;
      ctx.fillStyle = colors.paper;
      ctx.fillRect(px, py - 8, wide, 16);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colors.muted;
      ctx.fillText(text, px + 4, py);
    }
    inspect(narrow ? Math.min(now.width, 280) : now.width - width - 32);
  }

  function inspect(width) {
    const { header, colors, arrays } = now,
      p = picked;
    side.style.flexBasis = `${width}px`;
    const size = Math.max(60, Math.min(width, 260));
    map.node.style.display = arrays[`offsets${p.series}`] ? 'block' : 'none';
    const ctx = map.size(size, size);
    const v = value(`values${p.series}`, p.layer, p.head),
      d = value(`spread${p.series}`, p.layer, p.head);
    title.textContent = `Layer ${p.layer + 1}, head ${p.head + 1} · ${header.series[p.series]}`;
    const text = `${v.toFixed(v < 10 ? 2 : 1)} ${header.unit} (± ${d.toFixed(d < 10 ? 2 : 1)} over pictures)`;
    const offsets = arrays[`offsets${p.series}`];
    const shown = place === header.shown && offsets;
    const share = shown ? `${(100 * arrays[`tops${p.series}`].data[p.layer * shape()[2] + p.head]).toFixed(1)} %` : '';
    note.textContent = shown
      ? `${text}. Middle: the query. Brightest place: ${share} of its attention.`
      : offsets
        ? `${text}. The map belongs to step ${header.steps[header.shown]}.`
        : `${text}.`;
    say(`${title.textContent}: ${text}`);
    legend.style.visibility = shown ? 'visible' : 'hidden';
    if (shown) {
      const wide = Math.min(140, size - 80);
      blit(
        ramp.size(wide, 8),
        heat(
          Float32Array.from({ length: 256 }, (_, i) => i),
          1,
          256,
          SEQUENTIAL_LUT,
          0,
          255,
        ),
        0,
        0,
        wide,
        8,
        true,
      );
      peak.textContent = share;
      const [, heads, rows, cols] = offsets.shape,
        start = (p.layer * heads + p.head) * rows * cols;
      const table = SEQUENTIAL_LUT,
        side = size / Math.max(rows, cols);
      blit(ctx, heat(offsets.data, rows, cols, table, 0, 255, start), 0, 0, side * cols, side * rows);
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(side * ((cols - 1) / 2), side * ((rows - 1) / 2), side, side);
      return;
    }
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, size, size);
  }

  function nearest(event) {
    const box = plot.node.getBoundingClientRect(),
      px = event.clientX - box.left,
      py = event.clientY - box.top;
    let best = null,
      bestD = 24 * 24;
    for (const dot of dots) {
      const d = (dot.x - px) ** 2 + (dot.y - py) ** 2 + (dot.series ? 4 : 0);
      if (d < bestD) {
        bestD = d;
        best = dot;
      }
    }
    return best;
  }
  const choose = (dot) => {
    if (dot) {
      picked = { series: dot.series, layer: dot.layer, head: dot.head };
      draw();
    }
  };
  plot.node.tabIndex = 0;
  plot.node.setAttribute('role', 'application');
  plot.node.setAttribute(
    'aria-label',
    'Heads against depth. Left and right change the layer, up and down the head, Enter pins the head.',
  );
  plot.node.onpointermove = (event) => choose(nearest(event));
  plot.node.onpointerdown = (event) => choose(nearest(event));
  plot.node.onclick = (event) => {
    if (nearest(event)) trigger('pick', [picked.layer, picked.head]);
  };
  plot.node.onkeydown = (event) => {
    const [, layers, heads] = shape(),
      p = picked;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (moves[event.key]) {
      event.preventDefault();
      const [dl, dh] = moves[event.key];
      const layer = Math.min(layers - 1, Math.max(0, p.layer + dl));
      let head = Math.min(heads - 1, Math.max(0, p.head + dh));
      while (head > 0 && Number.isNaN(at(`values${p.series}`, 0, layer, head))) head--; // a stage with fewer heads
      choose({ series: p.series, layer, head });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      trigger('pick', [picked.layer, picked.head]);
    }
  };

  function show(target, ms) {
    stopMotion();
    const from = place;
    stopMotion = animate(ms, (t) => {
      place = t === 1 ? target : from + (target - from) * t;
      draw();
    });
    step = target;
    slider.value = String(target);
    stepText.textContent = `step ${now.header.steps[target].toLocaleString('en')}`;
  }
  function pause() {
    clearInterval(playing);
    playing = 0;
    play.textContent = '▶';
    play.setAttribute('aria-label', 'Play through training');
  }
  slider.oninput = () => {
    pause();
    show(+slider.value, 200);
  };
  play.onclick = () => {
    if (playing) return pause();
    play.textContent = '❚❚';
    play.setAttribute('aria-label', 'Pause');
    if (step === shape()[0] - 1) show(0, 0);
    playing = setInterval(() => (step < shape()[0] - 1 ? show(step + 1, 450) : pause()), 500);
  };

  onUnmount(() => {
    pause();
    stopMotion();
  });

  function niceStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough)),
      unit = rough / power;
    return power * (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1);
  }

  return (next) => {
    const fresh = next.header !== message;
    now = next;
    message = next.header;
    if (fresh) {
      pause();
      const [steps, layers, heads] = shape();
      slider.max = String(steps - 1);
      time.style.display = steps > 1 ? 'flex' : 'none';
      if (picked.layer >= layers || picked.head >= heads || picked.series >= now.header.series.length)
        picked = { series: 0, layer: 0, head: 0 };
      stopMotion();
      place = now.header.shown;
      show(now.header.shown, 0);
    }
    draw();
  };
}
