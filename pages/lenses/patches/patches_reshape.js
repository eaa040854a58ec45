// Correct patches beside those of a plain reshape: the pointer selects one patch and highlights its pixels.
// header: {patch, rows, cols, pin}; arrays: shown (H, W, 3), mosaic (H, W, 3) uint8

import { fill, lattice, outline } from '../../../vitviz/browser/kit/axes.js';
import { canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { blit, picture } from '../../../vitviz/browser/kit/pixels.js';
import { nameCell } from '../../../vitviz/browser/kit/text.js';

export default class PatchesReshape {
  constructor({ root }) {
    this.root = root;
    this.hover = -1;
    this.side = 0;
    this.images = [];
    this.pair = el(this.root, 'div', { class: 'pt-pair' });
    this.source = this.figure('Image', 'the token’s pixels by both methods');
    this.right = this.figure('Unfold, then flatten', 'each patch is a square');
    this.wrong = this.figure('reshape(N, P·P·C)', 'each “patch” is a run of pixels');
    this.note = el(this.root, 'div', { class: 'pt-note', 'data-role': 'reshape' });
    this.say = live(this.root);
    for (const [view, label] of [
      [this.right, 'Correct patches'],
      [this.wrong, 'Patches of the reshape'],
      [this.source, 'Image'],
    ])
      gridNavigation(view.node, {
        label,
        grid: () => [this.message.header.rows, this.message.header.cols],
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

  draw() {
    const { patch: P, rows, cols } = this.message.header;
    const { primary, query } = this.message.colors;
    const n = Math.max(0, this.hover);
    const width = P * cols;
    const cell = this.side / Math.max(rows, cols);
    this.drawSource(n, width, cell / P);
    for (const [view, image, colour] of [
      [this.right, this.images[0], primary],
      [this.wrong, this.images[1], query],
    ]) {
      const [wide, high] = [cols * cell, rows * cell];
      const ctx = view.size(wide, high);
      blit(ctx, image, 0, 0, wide, high);
      lattice(ctx, 'rgba(255,255,255,0.35)', cell < 14 ? 0.3 : 0.75, rows, cols, wide, high);
      outline(ctx, colour, 3, (n % cols) * cell, Math.floor(n / cols) * cell, cell, cell);
    }
    const place = (i) => nameCell(i, width);
    this.note.textContent =
      `Token ${n + 1} · unfold: the ${P} × ${P} square at row ${Math.floor(n / cols) * P + 1}, column ${(n % cols) * P + 1} · ` +
      `reshape: ${P * P} consecutive pixels, from ${place(n * P * P)} to ${place((n + 1) * P * P - 1)}`;
    if (this.hover >= 0) this.say(this.note.textContent);
  }

  /** Draws the image faded, with the pixels of both patches highlighted, each pixel `pixel` px wide. */
  drawSource(n, width, pixel) {
    const { patch: P, rows, cols } = this.message.header;
    const { mode, primary, query } = this.message.colors;
    const [wide, high] = [width * pixel, rows * P * pixel];
    const ctx = this.source.size(wide, high);
    blit(ctx, this.images[0], 0, 0, wide, high);
    fill(ctx, mode === 'dark' ? 'rgba(16,21,28,0.55)' : 'rgba(251,250,247,0.6)', 0, 0, wide, high);
    const highlight = (x, y, w, h, colour) => {
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(this.images[0], x, y, w, h, x * pixel, y * pixel, w * pixel, h * pixel);
      outline(ctx, colour, 2, x * pixel, y * pixel, w * pixel, h * pixel);
    };
    highlight((n % cols) * P, Math.floor(n / cols) * P, P, P, primary);
    const end = (n + 1) * P * P;
    for (let i = n * P * P; i < end;) {
      const run = Math.min(end - i, width - (i % width));
      highlight(i % width, Math.floor(i / width), run, 1, query);
      i += run;
    }
  }

  update(message, fresh) {
    if (fresh) {
      this.images = [picture(message.arrays.shown), picture(message.arrays.mosaic)];
      this.hover = message.header.pin;
    }
    this.message = message;
    this.side = Math.floor(
      this.message.width >= 640 ? Math.min(320, (this.message.width - 49) / 3) : Math.min(320, this.message.width),
    );
    this.draw();
  }
}
