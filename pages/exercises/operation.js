// Show an exercise's operation moving: a unit of the source lifts out, unrolls and slides into its row of the result.

import { canvas, el } from '../../vitviz/browser/kit/dom.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT, greatest, lut } from '../../vitviz/browser/kit/colour_ramp.js';
import { ease, mix } from '../../vitviz/browser/kit/motion.js';
import { blit, heat } from '../../vitviz/browser/kit/pixels.js';
import { timeline } from '../../vitviz/browser/kit/player.js';

const GREY_LUT = lut(['#000000', '#FFFFFF']);
const ROW_MS = 1100; // of a unit on its way
const TITLE = 22;
const STRIP = 22; // height of an unrolled patch
const FOOT = 2.4 * STRIP; // below the two images
const THUMB = { wide: 150, high: 92 };

const blend = (a, b, t) => a.map((value, i) => mix(value, b[i], t));

/** Return a matrix (rows, cols) as an image in its ramp: grey, signed or even. */
function picture({ data, shape }, ramp) {
  const most = greatest(data);
  const table = { grey: GREY_LUT, signed: DIVERGING_LUT }[ramp] ?? SEQUENTIAL_LUT;
  return heat(data, shape[0], shape[1], table, ramp === 'signed' ? -most : 0, most);
}

export default class Operation {
  constructor({ root }) {
    this.view = canvas(root, { role: 'img' });
    this.view.node.onpointermove = (event) => this.point(event);
    this.time = timeline(root, {
      class: 'op-time vv-row',
      label: 'Row of the result',
      last: () => this.rows,
      words: () => this.words(),
      show: () => this.draw(),
      fine: '0.02',
      flow: ROW_MS,
      file: 'operation',
    });
    this.wrong = el(root, 'ul', { class: 'op-wrong', 'aria-label': 'Common mistakes' });
    this.others = el(root, 'p', { class: 'op-others vv-muted' });
  }

  update(message, fresh) {
    this.message = message;
    const { header, arrays } = message;
    this.rows = arrays.target.shape[0];
    if (fresh) {
      this.source = picture(arrays.source, header.ramps[0]);
      this.target = picture(arrays.target, header.ramps[1]);
      this.time.stop();
      this.time.at = this.findFirst() + 0.5; // unrolled, below its place
      this.drawMistakes();
    }
    this.draw();
  }

  /** Return the row to begin at: of those in the middle, the one whose values differ most. */
  findFirst() {
    const { data, shape } = this.message.arrays.target;
    const range = (row) => {
      const values = data.subarray(row * shape[1], (row + 1) * shape[1]);
      return Math.max(...values) - Math.min(...values);
    };
    const middle = Array.from({ length: Math.ceil(this.rows / 4) }, (_, i) => Math.floor(this.rows * 0.35) + i);
    return middle.reduce((best, row) => (range(row) > range(best) ? row : best));
  }

  get at() {
    return Math.min(this.rows - 1, Math.floor(this.time.place));
  }

  words() {
    const { unit, rows } = this.message.header;
    return rows.length ? rows[this.at] : `${unit} ${this.at + 1} of ${this.rows}`;
  }

  /** The cells of the unit at its source: those of a square patch, or of one row. */
  cells([x, y, wide, high]) {
    const { patch } = this.message.header;
    const { shape } = this.message.arrays.source;
    if (!patch) return [[x, y + (this.at * high) / shape[0], wide, high / shape[0]]];
    const [w, h] = [wide / shape[1], high / shape[0]];
    const across = shape[1] / patch;
    const [left, top] = [(this.at % across) * patch, Math.floor(this.at / across) * patch];
    return Array.from({ length: patch * patch }, (_, i) => [
      x + (left + (i % patch)) * w,
      y + (top + Math.floor(i / patch)) * h,
      w,
      h,
    ]);
  }

  /** Show the unit under the pointer, on the source or on the result, unrolled. */
  point({ offsetX, offsetY }) {
    const { patch } = this.message.header;
    const { shape } = this.message.arrays.source;
    const inside = ([x, y, wide, high]) => [(offsetX - x) / wide, (offsetY - y) / high];
    const over = ([across, down]) => across >= 0 && across < 1 && down >= 0 && down < 1;
    const [source, target] = [inside(this.from), inside(this.to)];
    let unit = -1;
    if (over(target)) unit = Math.floor(target[1] * this.rows);
    else if (over(source) && !patch) unit = Math.floor(source[1] * this.rows);
    else if (over(source)) {
      const across = shape[1] / patch;
      unit = Math.floor(source[1] * (shape[0] / patch)) * across + Math.floor(source[0] * across);
    }
    if (unit >= 0 && !this.time.player.playing) this.time.jump(unit + 0.5);
  }

  draw() {
    const { header, arrays, colors, width } = this.message;
    const gap = 48;
    const side = Math.min(380, Math.floor((width - gap) * (width < 640 ? 0.45 : 0.4)));
    const wide = Math.min(480, width - gap - side);
    const columns = header.columns.length && header.columns.length <= 12 && wide > 300 ? 18 : 0;
    const ctx = this.view.size(width, side + TITLE + columns + FOOT);
    const [from, to] = [
      [0, TITLE, side, side],
      [side + gap, TITLE, wide, side],
    ];
    Object.assign(this, { from, to });
    ctx.font = `600 13px ${colors.font}`;
    ctx.fillStyle = colors.ink;
    ctx.textBaseline = 'top';
    ctx.fillText(header.titles[0], 0, 0, side + gap - 8);
    ctx.fillText(header.titles[1], to[0], 0, wide);
    blit(ctx, this.source, ...from);
    ctx.fillStyle = colors.panel;
    ctx.fillRect(...to);
    const done = Math.min(this.rows, Math.floor(this.time.place));
    const cols = arrays.target.shape[1];
    if (done) ctx.drawImage(this.target, 0, 0, cols, done, to[0], to[1], wide, (side * done) / this.rows);
    if (header.patch)
      this.drawLines(
        ctx,
        from,
        arrays.source.shape.map((size) => size / header.patch),
      );
    if (columns) this.drawNames(ctx, to);
    if (done < this.rows) this.drawMoving(ctx, from, to, this.time.place - done, columns);
    this.view.node.setAttribute('aria-label', `${header.titles.join(' to ')}. ${this.words()}.`);
    this.time.draw();
  }

  drawNames(ctx, [x, y, wide, high]) {
    const { header, colors } = this.message;
    Object.assign(ctx, { font: `13px ${colors.font}`, fillStyle: colors.muted, textAlign: 'center' });
    const step = wide / header.columns.length;
    header.columns.forEach((name, i) => ctx.fillText(name, x + (i + 0.5) * step, y + high + 4, step - 4));
    ctx.textAlign = 'left';
  }

  drawLines(ctx, [x, y, wide, high], [rows, cols]) {
    ctx.fillStyle = 'rgb(255 255 255 / 0.35)';
    for (let col = 1; col < cols; col++) ctx.fillRect(Math.round(x + (col * wide) / cols), y, 1, high);
    for (let row = 1; row < rows; row++) ctx.fillRect(x, Math.round(y + (row * high) / rows), wide, 1);
  }

  /** Draw the unit on its way, t in [0, 1): lifted, then unrolled below both, then slid into its row. */
  drawMoving(ctx, from, to, t, columns) {
    const { colors } = this.message;
    const cells = this.cells(from);
    const count = cells.length;
    const bottom = from[1] + from[3] + columns + STRIP * 0.7;
    const [unroll, slide] = [ease(Math.min(1, t / 0.5)), ease(Math.max(0, (t - 0.5) / 0.5))];
    const rowHigh = to[3] / this.rows;
    const { shape } = this.message.arrays.source;
    ctx.strokeStyle = colors.primary;
    ctx.lineWidth = 2;
    const [first, end] = [cells[0], cells[count - 1]];
    ctx.strokeRect(first[0], first[1], end[0] + end[2] - first[0], Math.max(3, end[1] + end[3] - first[1]));
    ctx.strokeRect(to[0], to[1] + this.at * rowHigh, to[2], Math.max(3, rowHigh));
    Object.assign(ctx, {
      font: `13px ${colors.font}`,
      fillStyle: colors.ink,
      textBaseline: 'middle',
      textAlign: 'right',
    });
    ctx.fillText(count > 1 ? `its ${count} values →` : `${this.words()} →`, to[0] - 10, bottom + STRIP / 2);
    ctx.textAlign = 'left';
    cells.forEach((cell, i) => {
      const strip = [to[0] + (i * to[2]) / count, bottom, to[2] / count, STRIP];
      const row = [strip[0], to[1] + this.at * rowHigh, strip[2], Math.max(2, rowHigh)];
      const box = slide > 0 ? blend(strip, row, slide) : blend(cell, strip, unroll);
      const [sx, sy] = [((cell[0] - from[0]) / from[2]) * shape[1], ((cell[1] - from[1]) / from[3]) * shape[0]];
      ctx.imageSmoothingEnabled = false;
      if (count === 1) {
        ctx.globalAlpha = 1 - slide;
        ctx.drawImage(this.source, 0, this.at, shape[1], 1, ...box);
        ctx.globalAlpha = slide;
        ctx.drawImage(this.target, 0, this.at, this.target.width, 1, ...box);
        ctx.globalAlpha = 1;
      } else ctx.drawImage(this.source, Math.round(sx), Math.round(sy), 1, 1, ...box);
      if (count > 1) ctx.strokeRect(...box);
    });
  }

  /** Draw the right result and what mistakes yield, as small images, and name the mistakes without one. */
  drawMistakes() {
    const { header, arrays } = this.message;
    this.wrong.replaceChildren();
    const results = header.mistakes.map((name, i) => ['✕', name, arrays[`mistake${i}`]]);
    const others = results.filter(([, , values]) => !values).map(([, name]) => name);
    this.others.textContent = others.length ? `The tests also find: ${others.join(', ')}.` : '';
    for (const [sign, name, values] of [['✓', 'right', arrays.target], ...results]) {
      if (!values) continue;
      const item = el(this.wrong, 'li');
      const view = canvas(item, { 'aria-hidden': 'true' });
      const ctx = view.size(THUMB.wide, THUMB.high);
      blit(ctx, picture(values, header.ramps[1]), 0, 0, THUMB.wide, THUMB.high);
      const line = el(item, 'span');
      el(line, 'b', { 'aria-hidden': 'true' }, `${sign} `);
      line.append(name);
    }
  }
}
