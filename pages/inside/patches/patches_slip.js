// The right cut beside the slip: under the pointer, one 'patch' of each and the pixels it was made of.
// header: {patch, rows, cols}; arrays: shown (S, S, 3), mosaic (S, S, 3) uint8

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, picture } from '../../views/kit/pixels.js';

class PatchesSlip {
  constructor({ root }) {
    this.root = root;
    this.now = null;
    this.hover = -1;
    this.side = 0;
    this.images = [];
    this.pair = el(this.root, 'div', { class: 'pt-pair' });
    this.source = this.figure('The picture', 'where the pixels come from');
    this.right = this.figure('Unfold, then flatten', 'a patch is a square of the picture');
    this.wrong = this.figure('reshape(N, P·P·C)', 'a “patch” is a run of pixels');
    this.note = el(this.root, 'div', { class: 'pt-note', 'data-role': 'slip' });
    this.say = live(this.root);
    for (const [view, label] of [
      [this.right, 'Right patches'],
      [this.wrong, 'Slipped patches'],
      [this.source, 'The picture'],
    ])
      gridNavigation(view.node, {
        label,
        rows: () => this.now.header.rows,
        cols: () => this.now.header.cols,
        pick: () => {},
        hover: (i) => {
          if (i >= 0) {
            this.hover = i;
            this.draw();
          }
        },
      });
  }

  figure(title, text) {
    const box = el(this.pair, 'figure');
    const head = el(box, 'figcaption');
    el(head, 'div', { class: 'pt-strong' }, title);
    el(head, 'div', { class: 'vv-muted' }, text);
    return canvas(box);
  }

  outline(ctx, index, colour, width = 3) {
    const { cols, rows } = this.now.header;
    const cell = this.side / Math.max(rows, cols);
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.strokeRect((index % cols) * cell, Math.floor(index / cols) * cell, cell, cell);
  }

  draw() {
    const { patch: P, rows, cols } = this.now.header;
    const n = Math.max(0, this.hover);
    const width = P * cols;
    const pixel = this.side / width;
    const first = n * P * P;
    const end = first + P * P;
    const from = this.source.size(this.side, this.side);
    blit(from, this.images[0], 0, 0, this.side, this.side);
    from.fillStyle = this.now.colors.mode === 'dark' ? 'rgba(16,21,28,0.55)' : 'rgba(251,250,247,0.6)';
    from.fillRect(0, 0, this.side, this.side);
    const lift = (x, y, w, h, colour) => {
      this.blitPart(from, x, y, w, h, pixel);
      from.strokeStyle = colour;
      from.lineWidth = 2;
      from.strokeRect(x * pixel, y * pixel, w * pixel, h * pixel);
    };
    lift((n % cols) * P, Math.floor(n / cols) * P, P, P, this.now.colors.primary);
    for (let i = first; i < end;) {
      const y = Math.floor(i / width);
      const x = i % width;
      const run = Math.min(end - i, width - x);
      lift(x, y, run, 1, this.now.colors.query);
      i += run;
    }
    for (const [view, image, colour] of [
      [this.right, this.images[0], this.now.colors.primary],
      [this.wrong, this.images[1], this.now.colors.query],
    ]) {
      const ctx = view.size(this.side, this.side);
      blit(ctx, image, 0, 0, this.side, this.side);
      ctx.strokeStyle = 'rgba(255,255,255,0.35)';
      ctx.lineWidth = this.side / Math.max(rows, cols) < 14 ? 0.3 : 0.75;
      for (let i = 1; i < rows; i++) {
        ctx.beginPath();
        ctx.moveTo(0, (i * this.side) / rows);
        ctx.lineTo(this.side, (i * this.side) / rows);
        ctx.stroke();
      }
      for (let i = 1; i < cols; i++) {
        ctx.beginPath();
        ctx.moveTo((i * this.side) / cols, 0);
        ctx.lineTo((i * this.side) / cols, this.side);
        ctx.stroke();
      }
      this.outline(ctx, n, colour);
    }
    const from_ = `row ${Math.floor(first / width)}, column ${first % width}`;
    const to = `row ${Math.floor((end - 1) / width)}, column ${(end - 1) % width}`;
    this.note.textContent =
      `Token ${n + 1}. Unfold: the ${P} × ${P} square at row ${Math.floor(n / cols) * P}, column ${(n % cols) * P}. ` +
      `Reshape: ${P * P} pixels in a run, from ${from_} to ${to}.`;
    if (this.hover >= 0) this.say(this.note.textContent);
  }

  blitPart(ctx, x, y, w, h, pixel) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.images[0], x, y, w, h, x * pixel, y * pixel, w * pixel, h * pixel);
  }

  update(message) {
    if (this.now?.arrays !== message.arrays) {
      this.images = [picture(message.arrays.shown), picture(message.arrays.mosaic)];
      this.hover = Math.floor(message.header.rows / 2) * message.header.cols + Math.floor(message.header.cols / 2);
    }
    this.now = message;
    this.side = Math.floor(
      this.now.width >= 720 ? Math.min(320, (this.now.width - 48) / 3) : Math.min(320, this.now.width),
    );
    this.draw();
  }
}

export default function patchesSlip(context) {
  const view = new PatchesSlip(context);
  return (message) => view.update(message);
}
