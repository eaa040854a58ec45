// The gradient of one output token to every patch, block by block, and beside it what the masks allow.
// header: {rows, cols, blocks: [{name, rows, cols, token}]}
// arrays: shown (S, S, 3) uint8; gradient (blocks, patches) float32; reach (blocks, patches) uint8

import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { SEQUENTIAL_LUT, rgb } from '../../views/kit/ramp.js';

const DECADES = 4;

export default function swinGradient({ root }) {
  let now = null,
    image = null;
  const grid = el(root, 'div', { class: 'sw-panels' }),
    tiles = [];
  const foot = el(root, 'div', { class: 'sw-foot' });
  const scale = canvas(foot, { role: 'img' });
  const tip = tooltip(root),
    say = live(root);
  const count = () => now.header.rows * now.header.cols;
  const largest = (b) => {
    let top = 0;
    for (let p = 0; p < count(); p++) top = Math.max(top, now.arrays.gradient.data[b * count() + p]);
    return top || 1;
  };

  function draw(b) {
    const { rows, cols, blocks } = now.header,
      self = tiles[b],
      w = self.side,
      step = w / cols,
      ctx = self.map.size(w, step * rows),
      { colors } = now;
    const top = largest(b);
    ctx.globalAlpha = 0.5;
    blit(ctx, image, 0, 0, w, step * rows, image.width > w);
    ctx.globalAlpha = 1;
    for (let p = 0; p < count(); p++) {
      const x = (p % cols) * step,
        y = Math.floor(p / cols) * step,
        share = now.arrays.gradient.data[b * count() + p] / top;
      if (!now.arrays.reach.data[b * count() + p]) {
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
      r >= 0 && c >= 0 && r < rows && c < cols && now.arrays.reach.data[b * count() + r * cols + c] === 1;
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
    const own = blocks[b],
      tw = w / own.cols,
      th = (step * rows) / own.rows;
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 4;
    ctx.strokeRect((own.token % own.cols) * tw + 1, Math.floor(own.token / own.cols) * th + 1, tw - 2, th - 2);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2.5;
    ctx.strokeRect((own.token % own.cols) * tw + 1, Math.floor(own.token / own.cols) * th + 1, tw - 2, th - 2);
    let may = 0,
      does = 0;
    for (let p = 0; p < count(); p++) {
      may += now.arrays.reach.data[b * count() + p];
      does += now.arrays.gradient.data[b * count() + p] > 1e-20 * top;
    }
    self.head.textContent = own.name;
    self.note.textContent = `${does.toLocaleString('en')} measured, ${may.toLocaleString('en')} allowed`;
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
    scale.node.setAttribute('aria-label', 'Colour scale of the gradient, logarithmic over four decades');
  }
  function add(b) {
    const box = el(grid, 'div');
    const self = {
      box,
      head: el(box, 'div', { class: 'sw-head' }),
      map: canvas(box, { class: 'sw-cross' }),
      note: el(box, 'div', { class: 'vv-muted', 'data-role': `gradient${b}` }),
      side: 100,
    };
    tiles[b] = self;
    gridNavigation(self.map.node, {
      label: `Gradient after block ${b + 1}`,
      rows: () => now.header.rows,
      cols: () => now.header.cols,
      hover(p, event) {
        if (p < 0) {
          tip.hide();
          return;
        }
        const share = now.arrays.gradient.data[b * count() + p] / largest(b),
          may = now.arrays.reach.data[b * count() + p];
        const size = share > 1e-20 ? `${(100 * share).toPrecision(2)} % of the largest gradient` : 'no gradient';
        const text = `Patch ${p + 1}: ${size}\n${may ? 'the masks let it through' : 'no way through the masks'}`;
        if (event?.type === 'keydown') say(text);
        const step = self.side / now.header.cols;
        tip.show(
          self.map.node.offsetLeft + ((p % now.header.cols) + 1) * step,
          self.map.node.offsetTop + Math.floor(p / now.header.cols) * step,
          text,
        );
      },
    });
  }
  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    if (fresh) image = picture(now.arrays.shown);
    const total = now.header.blocks.length;
    while (tiles.length < total) add(tiles.length);
    const across = now.width >= 760 ? Math.min(6, Math.max(4, total)) : 2,
      side = Math.floor((now.width - 16 * (across - 1)) / across);
    tiles.forEach((self, b) => {
      self.box.style.display = b < total ? '' : 'none';
      if (b >= total) return;
      self.side = side;
      self.box.style.width = `${side}px`;
      draw(b);
    });
    drawScale();
  };
}
