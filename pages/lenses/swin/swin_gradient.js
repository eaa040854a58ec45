// Gradient of one output token with respect to every patch after each block; allowed patches are outlined.
// header: {rows, cols, blocks: [{name, rows, cols, token}]}
// arrays: shown (S, S, 3) uint8; gradient (blocks, patches) float32; reach (blocks, patches) uint8

import { fill, frame } from '../../../vitviz/browser/kit/axes.js';
import { SEQUENTIAL_LUT, channelsAt, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { counted } from '../../../vitviz/browser/kit/text.js';
import { canvas, el, live, setCount, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { blit, picture } from '../../../vitviz/browser/kit/pixels.js';

const DECADES = 4;

/** Stroke the outline of the allowed patches. */
function strokeOutline(ctx, reach, rows, cols, step) {
  const inside = (r, c) => r >= 0 && c >= 0 && r < rows && c < cols && reach[r * cols + c] === 1;
  ctx.beginPath();
  for (let r = 0; r <= rows; r++)
    for (let c = 0; c <= cols; c++) {
      if (inside(r, c) !== inside(r - 1, c)) {
        ctx.moveTo(c * step, r * step);
        ctx.lineTo((c + 1) * step, r * step);
      }
      if (inside(r, c) !== inside(r, c - 1)) {
        ctx.moveTo(c * step, r * step);
        ctx.lineTo(c * step, (r + 1) * step);
      }
    }
  ctx.stroke();
}

export default class SwinGradient {
  constructor({ root }) {
    this.root = root;
    this.grid = el(this.root, 'div', { class: 'sw-panels' });
    this.tiles = [];
    this.foot = el(this.root, 'div', { class: 'sw-foot' });
    this.scale = canvas(this.foot, { role: 'img' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
  }

  largest(b) {
    let top = 0;
    for (let p = 0; p < this.count; p++) top = Math.max(top, this.now.arrays.gradient.data[b * this.count + p]);
    return top || 1;
  }

  draw(b) {
    const { rows, cols, blocks } = this.now.header;
    const { colors, arrays } = this.now;
    const self = this.tiles[b];
    const step = self.side / cols;
    const ctx = self.map.size(self.side, step * rows);
    const gradient = arrays.gradient.data.subarray(b * this.count, (b + 1) * this.count);
    const reach = arrays.reach.data.subarray(b * this.count, (b + 1) * this.count);
    const top = this.largest(b);
    ctx.globalAlpha = 0.5;
    blit(ctx, this.image, 0, 0, self.side, step * rows, this.image.width > self.side);
    for (let p = 0; p < this.count; p++) {
      const decades = Math.log10(Math.max(gradient[p] / top, 1e-30));
      const color = reach[p] ? `rgb(${channelsAt(SEQUENTIAL_LUT, 1 + decades / DECADES)})` : colors.paper;
      const [x, y] = [(p % cols) * step, Math.floor(p / cols) * step];
      fill(ctx, color, x, y, step + 0.5, step + 0.5, reach[p] ? 0.9 : 0.72);
    }
    ctx.strokeStyle = colors.ink;
    ctx.lineWidth = 1.5;
    strokeOutline(ctx, reach, rows, cols, step);
    this.drawToken(ctx, blocks[b], self.side, step * rows);
    const allowed = reach.reduce((sum, flag) => sum + flag, 0);
    const nonzero = gradient.reduce((sum, g) => sum + (g > 1e-20 * top), 0);
    self.head.textContent = blocks[b].name;
    self.note.textContent = `${counted(nonzero)} non-zero, ${counted(allowed)} allowed`;
  }

  drawToken(ctx, { token, rows, cols }, width, height) {
    const w = width / cols;
    const h = height / rows;
    frame(ctx, (token % cols) * w, Math.floor(token / cols) * h, w, h);
  }

  drawScale() {
    legend(this.scale, {
      table: SEQUENTIAL_LUT,
      width: Math.min(280, this.now.width),
      words: ['≤ 1/10,000', '', 'largest gradient'],
      colors: this.now.colors,
      label: 'Colour scale of the gradient, logarithmic over four decades',
    });
  }

  add(b) {
    const box = el(this.grid, 'div');
    const self = {
      box,
      head: el(box, 'div', { class: 'sw-head' }),
      map: canvas(box, { class: 'sw-cross' }),
      note: el(box, 'div', { class: 'vv-muted', 'data-role': `gradient${b}` }),
      side: 100,
    };
    gridNavigation(self.map.node, {
      label: `Gradient after block ${b + 1}`,
      grid: () => [this.now.header.rows, this.now.header.cols],
      hover: (p, event) => {
        if (p < 0) return this.tip.hide();
        const share = this.now.arrays.gradient.data[b * this.count + p] / this.largest(b);
        const allowed = this.now.arrays.reach.data[b * this.count + p];
        const size = share > 1e-20 ? `${(100 * share).toPrecision(2)} % of the largest gradient` : 'gradient 0';
        const text = `Patch ${p + 1}: ${size}\n${allowed ? 'allowed by the masks' : 'blocked by the masks'}`;
        if (event?.type === 'keydown') this.say(text);
        const { cols } = this.now.header;
        const step = self.side / cols;
        this.tip.showOver(self.map.node, ((p % cols) + 1) * step, Math.floor(p / cols) * step, text);
      },
    });
    return self;
  }

  update(message, fresh) {
    this.now = message;
    this.count = message.header.rows * message.header.cols;
    if (fresh) this.image = picture(this.now.arrays.shown);
    const total = this.now.header.blocks.length;
    setCount(this.tiles, total, (b) => this.add(b));
    const across = this.now.width >= 640 ? Math.min(6, Math.max(4, total)) : 2;
    const side = Math.floor((this.now.width - 16 * (across - 1)) / across);
    this.tiles.forEach((self, b) => {
      self.side = side;
      self.box.style.width = `${side}px`;
      this.draw(b);
    });
    this.drawScale();
  }
}
