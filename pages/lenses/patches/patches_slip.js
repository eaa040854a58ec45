// The right cut beside the slip: under the pointer, one 'patch' of each and the pixels it was made of.
// header: {patch, rows, cols, pin}; arrays: shown (S, S, 3), mosaic (S, S, 3) uint8

import { lattice } from '../../views/kit/axes.js';
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
        start: () => this.hover,
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
    const { primary, query } = this.now.colors;
    const n = Math.max(0, this.hover);
    const width = P * cols;
    this.drawSource(n, width);
    for (const [view, image, colour] of [
      [this.right, this.images[0], primary],
      [this.wrong, this.images[1], query],
    ]) {
      const ctx = view.size(this.side, this.side);
      blit(ctx, image, 0, 0, this.side, this.side);
      ctx.strokeStyle = 'rgba(255,255,255,0.35)';
      ctx.lineWidth = this.side / Math.max(rows, cols) < 14 ? 0.3 : 0.75;
      lattice(ctx, rows, cols, this.side, this.side);
      this.outline(ctx, n, colour);
    }
    const place = (i) => `row ${Math.floor(i / width)}, column ${i % width}`;
    this.note.textContent =
      `Token ${n + 1}. Unfold: the ${P} × ${P} square at row ${Math.floor(n / cols) * P}, column ${(n % cols) * P}. ` +
      `Reshape: ${P * P} pixels in a run, from ${place(n * P * P)} to ${place((n + 1) * P * P - 1)}.`;
    if (this.hover >= 0) this.say(this.note.textContent);
  }

  /** The picture, paled, with the pixels of both 'patches' lifted out of it. */
  drawSource(n, width) {
    const { patch: P, cols } = this.now.header;
    const { mode, primary, query } = this.now.colors;
    const pixel = this.side / width;
    const ctx = this.source.size(this.side, this.side);
    blit(ctx, this.images[0], 0, 0, this.side, this.side);
    ctx.fillStyle = mode === 'dark' ? 'rgba(16,21,28,0.55)' : 'rgba(251,250,247,0.6)';
    ctx.fillRect(0, 0, this.side, this.side);
    const lift = (x, y, w, h, colour) => {
      this.blitPart(ctx, x, y, w, h, pixel);
      ctx.strokeStyle = colour;
      ctx.lineWidth = 2;
      ctx.strokeRect(x * pixel, y * pixel, w * pixel, h * pixel);
    };
    lift((n % cols) * P, Math.floor(n / cols) * P, P, P, primary);
    const end = (n + 1) * P * P;
    for (let i = n * P * P; i < end;) {
      const run = Math.min(end - i, width - (i % width));
      lift(i % width, Math.floor(i / width), run, 1, query);
      i += run;
    }
  }

  blitPart(ctx, x, y, w, h, pixel) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.images[0], x, y, w, h, x * pixel, y * pixel, w * pixel, h * pixel);
  }

  update(message) {
    if (this.now?.arrays !== message.arrays) {
      this.images = [picture(message.arrays.shown), picture(message.arrays.mosaic)];
      this.hover = message.header.pin;
    }
    this.now = message;
    this.side = Math.floor(
      this.now.width >= 640 ? Math.min(320, (this.now.width - 49) / 3) : Math.min(320, this.now.width),
    );
    this.draw();
  }
}

export default function patchesSlip(context) {
  const view = new PatchesSlip(context);
  return (message) => view.update(message);
}
