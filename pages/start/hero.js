// A picture on the left, its patches as a sequence on the right; on arrival they fly there in reading order.

import { canvas, live, tooltip } from '../views/kit/dom.js';
import { gridNavigation } from '../views/kit/grid.js';
import { animate, ease } from '../views/kit/motion.js';
import { picture } from '../views/kit/pixels.js';

class Hero {
  constructor({ root, trigger, onUnmount }) {
    this.root = root;
    this.trigger = trigger;
    this.onUnmount = onUnmount;
    this.GAP = 3;
    this.board = canvas(this.root);
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    this.now = null;
    this.scene = null;
    this.flown = 0;
    this.stop = () => {};
    this.hovered = -1;
    this.navigation = gridNavigation(this.board.node, {
      label: 'The picture and its sequence of patches',
      rows: () => this.scene.grid,
      cols: () => this.scene.grid,
      cellAt: (x, y) => this.cellAt(x, y),
      hover: (index, event) => {
        this.hovered = index;
        this.draw();
        if (index < 0) return this.tip.hide();
        const text = this.describe(index);
        this.say(text);
        const [x, y, side] = this.scene.cells[index];
        if (event?.offsetX !== undefined) this.tip.show(event.offsetX, event.offsetY, text);
        else this.tip.show(x + side, y, text);
      },
      pick: (index) => this.trigger('pick', index),
    });
    this.onUnmount(() => this.stop());
  }

  describe(index) {
    const row = Math.floor(index / this.scene.grid);
    const col = index % this.scene.grid;
    return `patch ${index + 1} of ${this.scene.count}: row ${row + 1}, column ${col + 1}`;
  }

  /** Where everything stands: the picture's cells and the sequence's tokens as [x, y, side]. */
  layout(width) {
    const {
      shape: [side],
    } = this.now.arrays.shown;
    const grid = Math.max(1, Math.floor(side / this.now.header.patch_px));
    const narrow = width < 640;
    const count = grid * grid;
    const stage = Math.round(narrow ? Math.min(width, 300) : Math.min(320, width * 0.36));
    const cell = stage / grid;
    const left = narrow ? 0 : stage + Math.max(48, width * 0.08);
    const top = narrow ? stage + 32 : 0;
    const room = width - left;
    const height = narrow ? 220 : stage;
    let token = 40;
    let columns = 1;
    for (; token > 4; token--) {
      columns = Math.max(1, Math.floor((room + this.GAP) / (token + this.GAP)));
      if (Math.ceil(count / columns) * (token + this.GAP) - this.GAP <= height) break;
    }
    const rows = Math.ceil(count / columns);
    const used = rows * (token + this.GAP) - this.GAP;
    const cells = [];
    const tokens = [];
    const shift = narrow ? 0 : (height - used) / 2;
    for (let i = 0; i < count; i++) {
      cells.push([(i % grid) * cell, Math.floor(i / grid) * cell, cell]);
      tokens.push([
        left + (i % columns) * (token + this.GAP),
        top + shift + Math.floor(i / columns) * (token + this.GAP),
        token,
      ]);
    }
    return { grid, count, stage, cells, tokens, left, top, narrow, height: narrow ? top + used : stage };
  }

  cellAt(x, y) {
    const hit = ([cx, cy, side], pad) => x >= cx - pad && x < cx + side + pad && y >= cy - pad && y < cy + side + pad;
    const inPicture = this.scene.cells.findIndex((cell) => hit(cell, 0));
    return inPicture >= 0 ? inPicture : this.scene.tokens.findIndex((token) => hit(token, this.GAP / 2));
  }

  patch(ctx, index, x, y, side) {
    const px = this.now.header.patch_px;
    const row = Math.floor(index / this.scene.grid);
    const col = index % this.scene.grid;
    ctx.drawImage(this.scene.image, col * px, row * px, px, px, x, y, side, side);
  }

  draw() {
    if (!this.scene) return;
    const ctx = this.board.size(this.now.width, this.scene.height);
    const { colors } = this.now;
    ctx.imageSmoothingEnabled = false;
    const lit = this.hovered >= 0 ? this.hovered : this.scene.pinned;
    ctx.globalAlpha = this.hovered >= 0 ? 0.45 : 1;
    ctx.drawImage(this.scene.image, 0, 0, this.scene.stage, this.scene.stage);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.paper;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let i = 1; i < this.scene.grid; i++) {
      const at = (i * this.scene.stage) / this.scene.grid;
      ctx.moveTo(at, 0);
      ctx.lineTo(at, this.scene.stage);
      ctx.moveTo(0, at);
      ctx.lineTo(this.scene.stage, at);
    }
    ctx.stroke();
    for (let i = 0; i < this.scene.count; i++) {
      const t = ease(Math.min(1, Math.max(0, this.flown * 1.8 - (0.8 * i) / this.scene.count)));
      const [ax, ay, as] = this.scene.cells[i];
      const [bx, by, bs] = this.scene.tokens[i];
      if (t === 0) continue;
      ctx.globalAlpha = this.hovered >= 0 && i !== this.hovered ? 0.45 : 1;
      this.patch(ctx, i, ax + (bx - ax) * t, ay + (by - ay) * t, as + (bs - as) * t);
    }
    ctx.globalAlpha = 1;
    if (this.flown === 1 && lit >= 0) this.thread(ctx, lit, colors);
  }

  /** One thing, one colour: the patch in the picture, the token in the sequence, and the thread between them. */
  thread(ctx, index, colors) {
    const [ax, ay, as] = this.scene.cells[index];
    const [bx, by, bs] = this.scene.tokens[index];
    this.patch(ctx, index, ax, ay, as);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect(ax, ay, as, as);
    ctx.strokeRect(bx - 1, by - 1, bs + 2, bs + 2);
    ctx.beginPath();
    if (this.scene.narrow) {
      const [x, y, u, v] = [ax + as / 2, ay + as, bx + bs / 2, by - 2];
      const mid = (y + v) / 2;
      ctx.moveTo(x, y);
      ctx.bezierCurveTo(x, mid, u, mid, u, v);
    } else {
      const [x, y, u, v] = [ax + as, ay + as / 2, bx - 2, by + bs / 2];
      const mid = (this.scene.stage + this.scene.left) / 2;
      ctx.moveTo(x, y);
      ctx.bezierCurveTo(mid, y, mid, v, u, v);
    }
    ctx.globalAlpha = 0.8;
    ctx.lineWidth = 1.5;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  update(message) {
    const arrives = !this.now || this.now.arrays.shown !== message.arrays.shown;
    this.now = message;
    this.scene = this.layout(this.now.width);
    this.scene.image = picture(this.now.arrays.shown);
    const pin = this.now.header.pin;
    const at = (v) => Math.min(this.scene.grid - 1, Math.floor(v * this.scene.grid));
    this.scene.pinned = pin ? at(pin[1]) * this.scene.grid + at(pin[0]) : -1;
    this.hovered = Math.min(this.hovered, this.scene.count - 1);
    if (arrives && this.flown === 0) {
      this.stop = animate(1200, (t) => {
        this.flown = t;
        this.draw();
      });
    }
    this.draw();
  }
}

export default function hero(context) {
  const view = new Hero(context);
  return (message) => view.update(message);
}
