// The right cut beside the slip: under the pointer, one 'patch' of each and the pixels it was made of.
// header: {patch, rows, cols}; arrays: shown (S, S, 3), mosaic (S, S, 3) uint8

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, picture } from '../../views/kit/pixels.js';

export default function patchesSlip({ root }) {
  let now = null,
    hover = -1,
    side = 0,
    images = [];
  const pair = el(root, 'div', { class: 'pt-pair' });
  const figure = (title, text) => {
    const box = el(pair, 'figure'),
      head = el(box, 'figcaption');
    el(head, 'div', { class: 'pt-strong' }, title);
    el(head, 'div', { class: 'vv-muted' }, text);
    return canvas(box);
  };
  const source = figure('The picture', 'where the pixels come from');
  const right = figure('Unfold, then flatten', 'a patch is a square of the picture');
  const wrong = figure('reshape(N, P·P·C)', 'a “patch” is a run of pixels');
  const note = el(root, 'div', { class: 'pt-note', 'data-role': 'slip' }),
    say = live(root);

  function outline(ctx, index, colour, width = 3) {
    const { cols, rows } = now.header,
      cell = side / Math.max(rows, cols);
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.strokeRect((index % cols) * cell, Math.floor(index / cols) * cell, cell, cell);
  }
  function draw() {
    const { patch: P, rows, cols } = now.header,
      n = Math.max(0, hover),
      width = P * cols,
      pixel = side / width;
    const first = n * P * P,
      end = first + P * P;
    const from = source.size(side, side);
    blit(from, images[0], 0, 0, side, side);
    from.fillStyle = now.colors.mode === 'dark' ? 'rgba(16,21,28,0.55)' : 'rgba(251,250,247,0.6)';
    from.fillRect(0, 0, side, side);
    const lift = (x, y, w, h, colour) => {
      blitPart(from, x, y, w, h, pixel);
      from.strokeStyle = colour;
      from.lineWidth = 2;
      from.strokeRect(x * pixel, y * pixel, w * pixel, h * pixel);
    };
    lift((n % cols) * P, Math.floor(n / cols) * P, P, P, now.colors.primary);
    for (let i = first; i < end;) {
      const y = Math.floor(i / width),
        x = i % width,
        run = Math.min(end - i, width - x);
      lift(x, y, run, 1, now.colors.query);
      i += run;
    }
    for (const [view, image, colour] of [
      [right, images[0], now.colors.primary],
      [wrong, images[1], now.colors.query],
    ]) {
      const ctx = view.size(side, side);
      blit(ctx, image, 0, 0, side, side);
      ctx.strokeStyle = 'rgba(255,255,255,0.35)';
      ctx.lineWidth = side / Math.max(rows, cols) < 14 ? 0.3 : 0.75;
      for (let i = 1; i < rows; i++) {
        ctx.beginPath();
        ctx.moveTo(0, (i * side) / rows);
        ctx.lineTo(side, (i * side) / rows);
        ctx.stroke();
      }
      for (let i = 1; i < cols; i++) {
        ctx.beginPath();
        ctx.moveTo((i * side) / cols, 0);
        ctx.lineTo((i * side) / cols, side);
        ctx.stroke();
      }
      outline(ctx, n, colour);
    }
    const from_ = `row ${Math.floor(first / width)}, column ${first % width}`,
      to = `row ${Math.floor((end - 1) / width)}, column ${(end - 1) % width}`;
    note.textContent =
      `Token ${n + 1}. Unfold: the ${P} × ${P} square at row ${Math.floor(n / cols) * P}, column ${(n % cols) * P}. ` +
      `Reshape: ${P * P} pixels in a run, from ${from_} to ${to}.`;
    if (hover >= 0) say(note.textContent);
  }
  function blitPart(ctx, x, y, w, h, pixel) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(images[0], x, y, w, h, x * pixel, y * pixel, w * pixel, h * pixel);
  }
  for (const [view, label] of [
    [right, 'Right patches'],
    [wrong, 'Slipped patches'],
    [source, 'The picture'],
  ])
    gridNavigation(view.node, {
      label,
      rows: () => now.header.rows,
      cols: () => now.header.cols,
      pick: () => {},
      hover(i) {
        if (i >= 0) {
          hover = i;
          draw();
        }
      },
    });
  return (message) => {
    if (now?.arrays !== message.arrays) {
      images = [picture(message.arrays.shown), picture(message.arrays.mosaic)];
      hover = Math.floor(message.header.rows / 2) * message.header.cols + Math.floor(message.header.cols / 2);
    }
    now = message;
    side = Math.floor(now.width >= 720 ? Math.min(320, (now.width - 48) / 3) : Math.min(320, now.width));
    draw();
  };
}
