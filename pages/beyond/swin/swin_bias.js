// The relative position bias: one table per head, and how two tokens of a window index into it.
// header: {rows, cols (of the window), heads, head, steps, at}
// arrays: table (steps, heads, (2Mh-1)(2Mw-1)) float32; index (Mh Mw, Mh Mw) int32

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, headColor, rgb } from '../../views/kit/ramp.js';

const FRAME_MS = 300;
const signed = (v, digits = 4) => `${v < 0 ? '−' : ''}${Math.abs(v).toFixed(digits)}`;

export default function swinBias({ root, onUnmount }) {
  let now = null,
    head = 0,
    at = 0,
    query = 0,
    key = 0,
    cell = -1,
    timer = 0,
    size = {};
  const stage = el(root, 'div', { class: 'sw-stage' });
  const column = (title) => {
    const box = el(stage, 'div');
    return { box, head: el(box, 'div', { class: 'sw-head' }, title), map: canvas(box, { class: 'sw-cross' }) };
  };
  const win = column('A window: query and key'),
    table = column(''),
    matrix = column('');
  const read = el(stage, 'div', { class: 'sw-read' });
  const lines = Array.from({ length: 5 }, (_, i) =>
    el(read, 'div', { 'data-role': ['offset', 'index', 'value', 'pairs', 'hint'][i], class: i === 1 ? 'vv-mono' : '' }),
  );
  const scaleBox = el(root, 'div', { class: 'sw-foot' });
  const scale = canvas(scaleBox, { role: 'img' });
  const time = el(root, 'div', { class: 'vv-row sw-time' });
  const play = el(time, 'button', { type: 'button' }, '▶ Play');
  const slider = el(time, 'input', { type: 'range', min: 0, step: 1, 'aria-label': 'Moment of training' });
  const moment = el(time, 'span');
  const headsTitle = el(root, 'div', { class: 'sw-head sw-above' });
  const small = canvas(root, { class: 'sw-cross' });
  const say = live(root);

  const M = () => now.header,
    tokens = () => M().rows * M().cols,
    wide = () => 2 * M().cols - 1,
    tall = () => 2 * M().rows - 1;
  const value = (i, h = head) => now.arrays.table.data[(at * M().heads + h) * wide() * tall() + i];
  const largest = () => {
    const n = M().heads * wide() * tall();
    return now.arrays.table.data.subarray(at * n, (at + 1) * n).reduce((m, v) => Math.max(m, Math.abs(v)), 0);
  };
  const indexOf = (q, k) => now.arrays.index.data[q * tokens() + k];
  const lit = () => (cell >= 0 ? cell : indexOf(query, key));
  const color = (v) => {
    const level = 4 * Math.round(127.5 * (1 + Math.max(-1, Math.min(1, v / size.peak))));
    return `rgb(${DIVERGING_LUT.subarray(level, level + 3).join()})`;
  };
  const place = (t) => `(${Math.floor(t / M().cols)}, ${t % M().cols})`;

  function drawWindow() {
    const { rows, cols } = M(),
      step = size.window / Math.max(rows, cols),
      ctx = win.map.size(step * cols, step * rows),
      { colors } = now;
    for (let t = 0; t < tokens(); t++) {
      const x = (t % cols) * step,
        y = Math.floor(t / cols) * step;
      ctx.fillStyle = color(value(indexOf(query, t)));
      ctx.fillRect(x, y, step - 1, step - 1);
      if (cell >= 0 && indexOf(query, t) === cell) ring(ctx, x, y, step - 1, colors.ink, 2);
    }
    const box = (t) => [(t % cols) * step, Math.floor(t / cols) * step];
    ring(ctx, ...box(key), step - 1, '#0F151C', 2.5);
    ring(ctx, ...box(query), step - 1, colors.query, 3);
    ctx.font = `600 13px ${colors.font}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = '#0F151C';
    const text = (t, letter) => ctx.fillText(letter, box(t)[0] + step / 2, box(t)[1] + step / 2);
    text(query, query === key ? 'q = k' : 'q');
    if (query !== key) text(key, 'k');
  }
  function ring(ctx, x, y, side, stroke, width) {
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width;
    ctx.strokeRect(x + width / 2, y + width / 2, side - width, side - width);
  }
  function drawTable() {
    const step = size.table / wide(),
      ctx = table.map.size(step * wide(), step * tall());
    for (let i = 0; i < wide() * tall(); i++) {
      ctx.fillStyle = color(value(i));
      ctx.fillRect((i % wide()) * step, Math.floor(i / wide()) * step, step - 0.75, step - 0.75);
    }
    ring(ctx, (lit() % wide()) * step - 1, Math.floor(lit() / wide()) * step - 1, step + 1.25, '#0F151C', 2.5);
    table.head.textContent = `Head ${head + 1}’s table, ${tall()} × ${wide()}`;
  }
  function drawMatrix() {
    const n = tokens(),
      step = size.matrix / n,
      ctx = matrix.map.size(size.matrix, size.matrix);
    for (let q = 0; q < n; q++)
      for (let k = 0; k < n; k++) {
        ctx.fillStyle = color(value(indexOf(q, k)));
        ctx.fillRect(k * step, q * step, step + 0.3, step + 0.3);
      }
    // Every pair that reads the same entry of the table.
    ctx.strokeStyle = '#0F151C';
    ctx.lineWidth = step > 5 ? 1.5 : 1;
    for (let q = 0; q < n; q++)
      for (let k = 0; k < n; k++)
        if (indexOf(q, k) === lit()) ctx.strokeRect(k * step + 0.5, q * step + 0.5, step - 1, step - 1);
    if (cell < 0) ring(ctx, key * step - 1, query * step - 1, step + 2, now.colors.query, 2.5);
    matrix.head.textContent = `B, ${n} × ${n}: query (row) × key (column)`;
  }
  function drawRead() {
    const { rows, cols } = M(),
      i = lit(),
      dr = Math.floor(i / wide()) - rows + 1,
      dc = (i % wide()) - cols + 1;
    const pairs = (rows - Math.abs(dr)) * (cols - Math.abs(dc));
    const n = (v) => (v < 0 ? `(−${-v})` : `${v}`);
    lines[0].textContent =
      cell >= 0
        ? `Offset query − key = (${signed(dr, 0)}, ${signed(dc, 0)})`
        : `q ${place(query)} − k ${place(key)} = (${signed(dr, 0)}, ${signed(dc, 0)})`;
    lines[1].textContent = `(${n(dr)} + ${rows - 1})·${wide()} + ${n(dc)} + ${cols - 1} = ${i}`;
    lines[2].replaceChildren();
    el(lines[2], 'span', {}, `table[${i}, head ${head + 1}] = `);
    el(lines[2], 'span', { class: 'sw-big' }, signed(value(i)));
    lines[3].textContent = `read by ${pairs.toLocaleString('en')} of ${(tokens() ** 2).toLocaleString('en')} pairs: every pair with this offset`;
    lines[4].textContent = 'Added to the score q·k/√d before the softmax.';
    return `${lines[0].textContent}, bias ${signed(value(i))}`;
  }
  const smallSide = () => Math.min(112, Math.max(56, Math.floor(now.width / Math.min(M().heads, 8)) - 8));
  const smallAcross = () => Math.max(1, Math.min(M().heads, Math.floor((now.width + 8) / (smallSide() + 8))));
  function drawSmall() {
    const s = smallSide(),
      across = smallAcross(),
      down = Math.ceil(M().heads / across),
      step = s / wide(),
      { colors } = now;
    const ctx = small.size(across * (s + 8), down * (s + 26));
    for (let h = 0; h < M().heads; h++) {
      const x0 = (h % across) * (s + 8),
        y0 = Math.floor(h / across) * (s + 26) + 18;
      ctx.fillStyle = colors.ink;
      ctx.font = `12px ${colors.font}`;
      ctx.textAlign = 'left';
      ctx.textBaseline = 'alphabetic';
      ctx.fillText(`Head ${h + 1}`, x0 + 12, y0 - 5);
      ctx.fillStyle = headColor(h, M().heads);
      ctx.fillRect(x0, y0 - 13, 8, 8);
      for (let i = 0; i < wide() * tall(); i++) {
        ctx.fillStyle = color(value(i, h));
        ctx.fillRect(x0 + (i % wide()) * step, y0 + Math.floor(i / wide()) * step, step + 0.3, step + 0.3);
      }
      if (h === head) ring(ctx, x0, y0, s, colors.query, 2.5);
    }
    headsTitle.textContent = `All ${M().heads} heads, one scale`;
  }
  function drawScale() {
    const width = Math.min(280, now.width),
      ctx = scale.size(width, 34),
      { colors } = now;
    blit(
      ctx,
      heat(
        Float32Array.from({ length: 256 }, (_, i) => i),
        1,
        256,
        DIVERGING_LUT,
        0,
        255,
      ),
      0,
      0,
      width,
      10,
      true,
    );
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'top';
    for (const [v, x, align] of [
      [-size.peak, 0, 'left'],
      [0, width / 2, 'center'],
      [size.peak, width, 'right'],
    ]) {
      ctx.textAlign = align;
      ctx.fillText(v === 0 ? '0' : signed(v, 3), x, 16);
    }
    scale.node.setAttribute('aria-label', `Colour scale of the bias, ±${size.peak.toFixed(3)}`);
  }
  function drawAll() {
    drawWindow();
    drawTable();
    drawMatrix();
    drawSmall();
    const many = M().steps.length > 1;
    time.style.display = many ? '' : 'none';
    slider.max = M().steps.length - 1;
    slider.value = at;
    moment.textContent = `step ${M().steps[at].toLocaleString('en')} · largest |bias| ${largest().toFixed(3)}`;
    slider.setAttribute('aria-valuetext', moment.textContent);
    return drawRead();
  }
  const point = (q, k, event) => {
    cell = -1;
    query = q;
    key = k;
    const text = drawAll();
    if (event?.type === 'keydown') say(text);
  };
  gridNavigation(win.map.node, {
    label: 'The window: pointing chooses the key, Enter makes it the query',
    rows: () => M().rows,
    cols: () => M().cols,
    hover(i, event) {
      if (i >= 0) point(query, i, event);
    },
    pick: (i) => point(i, i),
  });
  gridNavigation(table.map.node, {
    label: 'The table of biases, one entry per offset',
    rows: tall,
    cols: wide,
    hover(i, event) {
      cell = i;
      const text = drawAll();
      if (i >= 0 && event?.type === 'keydown') say(text);
    },
    pick(i) {
      // A pair with this offset: the query as far to the side as it must be.
      const dr = Math.floor(i / wide()) - M().rows + 1,
        dc = (i % wide()) - M().cols + 1;
      const q = Math.max(0, dr) * M().cols + Math.max(0, dc),
        k = Math.max(0, -dr) * M().cols + Math.max(0, -dc);
      point(q, k);
    },
  });
  gridNavigation(matrix.map.node, {
    label: 'The bias matrix, query by key',
    rows: tokens,
    cols: tokens,
    hover(i, event) {
      if (i >= 0) point(Math.floor(i / tokens()), i % tokens(), event);
    },
  });
  gridNavigation(small.node, {
    label: 'Heads; Enter chooses one',
    rows: () => Math.ceil(M().heads / smallAcross()),
    cols: smallAcross,
    hover(i, event) {
      if (i >= 0 && i < M().heads && event?.type === 'keydown') say(`Head ${i + 1}`);
    },
    pick(i) {
      if (i < M().heads) {
        head = i;
        drawAll();
      }
    },
  });
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = '▶ Play';
  };
  play.onclick = () => {
    if (timer) {
      stop();
      return;
    }
    if (at >= M().steps.length - 1) at = 0;
    play.textContent = '❚❚ Pause';
    timer = setInterval(() => {
      if (at >= M().steps.length - 1) stop();
      else {
        at += 1;
        drawAll();
      }
    }, FRAME_MS);
  };
  slider.oninput = () => {
    stop();
    at = Number(slider.value);
    drawAll();
  };
  onUnmount(stop);

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const { header, width } = now;
    if (fresh) {
      stop();
      at = header.at;
      head = Math.min(head, header.heads - 1);
      cell = -1;
      const middle = Math.floor(header.rows / 2) * header.cols + Math.floor(header.cols / 2);
      query = middle;
      key = Math.min(tokens() - 1, middle + 1);
      size.peak = Math.max(
        1e-6,
        now.arrays.table.data.reduce((m, v) => Math.max(m, Math.abs(v)), 0),
      );
    }
    const across = width >= 760 ? 4 : width >= 480 ? 2 : 1,
      unit = Math.min(300, Math.floor((width - 24 * (across - 1)) / across));
    Object.assign(size, { window: Math.min(unit, 192), table: unit, matrix: unit });
    play.style.display = reducedMotion() ? 'none' : '';
    drawScale();
    drawAll();
  };
}
