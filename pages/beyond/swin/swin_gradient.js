// The gradient of one output token to every patch, block by block, and beside it what the masks allow.
// header: {rows, cols, blocks: [{name, rows, cols, token}]}
// arrays: shown (S, S, 3) uint8; gradient (blocks, patches) float32; reach (blocks, patches) uint8

import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { SEQUENTIAL_LUT, rgb } from '../../views/kit/ramp.js';

const DECADES = 4;

class SwinGradient {
  constructor({ root }) {
    this.root = root;
    this.now = null;
    this.image = null;
    this.grid = el(this.root, 'div', { class: 'sw-panels' });
    this.tiles = [];
    this.foot = el(this.root, 'div', { class: 'sw-foot' });
    this.scale = canvas(this.foot, { role: 'img' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
  }

  count() {
    return this.now.header.rows * this.now.header.cols;
  }

  largest(b) {
    let top = 0;
    for (let p = 0; p < this.count(); p++) top = Math.max(top, this.now.arrays.gradient.data[b * this.count() + p]);
    return top || 1;
  }

  draw(b) {
    const { rows, cols, blocks } = this.now.header;
    const self = this.tiles[b];
    const w = self.side;
    const step = w / cols;
    const ctx = self.map.size(w, step * rows);
    const { colors } = this.now;
    const top = this.largest(b);
    ctx.globalAlpha = 0.5;
    blit(ctx, this.image, 0, 0, w, step * rows, this.image.width > w);
    ctx.globalAlpha = 1;
    for (let p = 0; p < this.count(); p++) {
      const x = (p % cols) * step;
      const y = Math.floor(p / cols) * step;
      const share = this.now.arrays.gradient.data[b * this.count() + p] / top;
      if (!this.now.arrays.reach.data[b * this.count() + p]) {
        ctx.globalAlpha = 0.72;
        ctx.fillStyle = colors.paper;
        ctx.fillRect(x, y, step + 0.5, step + 0.5);
        ctx.globalAlpha = 1;
        continue;
      }
      const level = 4 * Math.round(255 * Math.max(0, Math.min(1, 1 + Math.log10(Math.max(share, 1e-30)) / DECADES)));
      ctx.globalAlpha = 0.9;
      ctx.fillStyle = `rgb(${SEQUENTIAL_LUT.subarray(level, level + 3).join()})`;
      ctx.fillRect(x, y, step + 0.5, step + 0.5);
      ctx.globalAlpha = 1;
    }
    // The edge of the reachable set, as a line.
    ctx.strokeStyle = colors.ink;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    const inside = (r, c) =>
      r >= 0 && c >= 0 && r < rows && c < cols && this.now.arrays.reach.data[b * this.count() + r * cols + c] === 1;
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
    const own = blocks[b];
    const tw = w / own.cols;
    const th = (step * rows) / own.rows;
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 4;
    ctx.strokeRect((own.token % own.cols) * tw + 1, Math.floor(own.token / own.cols) * th + 1, tw - 2, th - 2);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2.5;
    ctx.strokeRect((own.token % own.cols) * tw + 1, Math.floor(own.token / own.cols) * th + 1, tw - 2, th - 2);
    let may = 0;
    let does = 0;
    for (let p = 0; p < this.count(); p++) {
      may += this.now.arrays.reach.data[b * this.count() + p];
      does += this.now.arrays.gradient.data[b * this.count() + p] > 1e-20 * top;
    }
    self.head.textContent = own.name;
    self.note.textContent = `${does.toLocaleString('en')} measured, ${may.toLocaleString('en')} allowed`;
  }

  drawScale() {
    const width = Math.min(280, this.now.width);
    const ctx = this.scale.size(width, 34);
    const { colors } = this.now;
    blit(
      ctx,
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
      width,
      10,
      true,
    );
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'top';
    ctx.textAlign = 'left';
    ctx.fillText('≤ 1/10,000 of', 0, 16);
    ctx.textAlign = 'right';
    ctx.fillText('the largest gradient of the map', width, 16);
    this.scale.node.setAttribute('aria-label', 'Colour scale of the gradient, logarithmic over four decades');
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
    this.tiles[b] = self;
    gridNavigation(self.map.node, {
      label: `Gradient after block ${b + 1}`,
      rows: () => this.now.header.rows,
      cols: () => this.now.header.cols,
      hover: (p, event) => {
        if (p < 0) {
          this.tip.hide();
          return;
        }
        const share = this.now.arrays.gradient.data[b * this.count() + p] / this.largest(b);
        const may = this.now.arrays.reach.data[b * this.count() + p];
        const size = share > 1e-20 ? `${(100 * share).toPrecision(2)} % of the largest gradient` : 'no gradient';
        const text = `Patch ${p + 1}: ${size}\n${may ? 'the masks let it through' : 'no way through the masks'}`;
        if (event?.type === 'keydown') this.say(text);
        const step = self.side / this.now.header.cols;
        this.tip.show(
          self.map.node.offsetLeft + ((p % this.now.header.cols) + 1) * step,
          self.map.node.offsetTop + Math.floor(p / this.now.header.cols) * step,
          text,
        );
      },
    });
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    if (fresh) this.image = picture(this.now.arrays.shown);
    const total = this.now.header.blocks.length;
    while (this.tiles.length < total) this.add(this.tiles.length);
    const across = this.now.width >= 760 ? Math.min(6, Math.max(4, total)) : 2;
    const side = Math.floor((this.now.width - 16 * (across - 1)) / across);
    this.tiles.forEach((self, b) => {
      self.box.style.display = b < total ? '' : 'none';
      if (b >= total) return;
      self.side = side;
      self.box.style.width = `${side}px`;
      this.draw(b);
    });
    this.drawScale();
  }
}

export default function swinGradient(context) {
  const view = new SwinGradient(context);
  return (message) => view.update(message);
}
