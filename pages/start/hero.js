// A picture on the left, its patches as a sequence on the right; on arrival they fly there in reading order.

import { canvas, live, tooltip } from '../views/kit/dom.js';
import { gridNavigation } from '../views/kit/grid.js';
import { animate, ease } from '../views/kit/motion.js';
import { picture } from '../views/kit/pixels.js';

export default function hero({ root, trigger, onUnmount }) {
  const GAP = 3;
  const board = canvas(root),
    tip = tooltip(root),
    say = live(root);
  let now = null,
    scene = null,
    flown = 0,
    stop = () => {},
    hovered = -1;

  const navigation = gridNavigation(board.node, {
    label: 'The picture and its sequence of patches',
    rows: () => scene.grid,
    cols: () => scene.grid,
    cellAt: (x, y) => cellAt(x, y),
    hover(index, event) {
      hovered = index;
      draw();
      if (index < 0) return tip.hide();
      const text = describe(index);
      say(text);
      const [x, y, side] = scene.cells[index];
      if (event?.offsetX !== undefined) tip.show(event.offsetX, event.offsetY, text);
      else tip.show(x + side, y, text);
    },
    pick: (index) => trigger('pick', index),
  });
  onUnmount(() => stop());

  function describe(index) {
    const row = Math.floor(index / scene.grid),
      col = index % scene.grid;
    return `patch ${index + 1} of ${scene.count}: row ${row + 1}, column ${col + 1}`;
  }

  /** Where everything stands: the picture's cells and the sequence's tokens as [x, y, side]. */
  function layout(width) {
    const {
        shape: [side],
      } = now.arrays.shown,
      grid = Math.max(1, Math.floor(side / now.header.patch_px));
    const narrow = width < 640,
      count = grid * grid;
    const stage = Math.round(narrow ? Math.min(width, 300) : Math.min(320, width * 0.36));
    const cell = stage / grid;
    const left = narrow ? 0 : stage + Math.max(48, width * 0.08),
      top = narrow ? stage + 32 : 0;
    const room = width - left,
      height = narrow ? 220 : stage;
    let token = 40,
      columns = 1;
    for (; token > 4; token--) {
      columns = Math.max(1, Math.floor((room + GAP) / (token + GAP)));
      if (Math.ceil(count / columns) * (token + GAP) - GAP <= height) break;
    }
    const rows = Math.ceil(count / columns),
      used = rows * (token + GAP) - GAP;
    const cells = [],
      tokens = [],
      shift = narrow ? 0 : (height - used) / 2;
    for (let i = 0; i < count; i++) {
      cells.push([(i % grid) * cell, Math.floor(i / grid) * cell, cell]);
      tokens.push([left + (i % columns) * (token + GAP), top + shift + Math.floor(i / columns) * (token + GAP), token]);
    }
    return { grid, count, stage, cells, tokens, left, top, narrow, height: narrow ? top + used : stage };
  }

  function cellAt(x, y) {
    const hit = ([cx, cy, side], pad) => x >= cx - pad && x < cx + side + pad && y >= cy - pad && y < cy + side + pad;
    const inPicture = scene.cells.findIndex((cell) => hit(cell, 0));
    return inPicture >= 0 ? inPicture : scene.tokens.findIndex((token) => hit(token, GAP / 2));
  }

  function patch(ctx, index, x, y, side) {
    const px = now.header.patch_px,
      row = Math.floor(index / scene.grid),
      col = index % scene.grid;
    ctx.drawImage(scene.image, col * px, row * px, px, px, x, y, side, side);
  }

  function draw() {
    if (!scene) return;
    const ctx = board.size(now.width, scene.height),
      { colors } = now;
    ctx.imageSmoothingEnabled = false;
    const lit = hovered >= 0 ? hovered : scene.pinned;
    ctx.globalAlpha = hovered >= 0 ? 0.45 : 1;
    ctx.drawImage(scene.image, 0, 0, scene.stage, scene.stage);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.paper;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let i = 1; i < scene.grid; i++) {
      const at = (i * scene.stage) / scene.grid;
      ctx.moveTo(at, 0);
      ctx.lineTo(at, scene.stage);
      ctx.moveTo(0, at);
      ctx.lineTo(scene.stage, at);
    }
    ctx.stroke();
    for (let i = 0; i < scene.count; i++) {
      const t = ease(Math.min(1, Math.max(0, flown * 1.8 - (0.8 * i) / scene.count)));
      const [ax, ay, as] = scene.cells[i],
        [bx, by, bs] = scene.tokens[i];
      if (t === 0) continue;
      ctx.globalAlpha = hovered >= 0 && i !== hovered ? 0.45 : 1;
      patch(ctx, i, ax + (bx - ax) * t, ay + (by - ay) * t, as + (bs - as) * t);
    }
    ctx.globalAlpha = 1;
    if (flown === 1 && lit >= 0) thread(ctx, lit, colors);
  }

  /** One thing, one colour: the patch in the picture, the token in the sequence, and the thread between them. */
  function thread(ctx, index, colors) {
    const [ax, ay, as] = scene.cells[index],
      [bx, by, bs] = scene.tokens[index];
    patch(ctx, index, ax, ay, as);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect(ax, ay, as, as);
    ctx.strokeRect(bx - 1, by - 1, bs + 2, bs + 2);
    ctx.beginPath();
    if (scene.narrow) {
      const [x, y, u, v] = [ax + as / 2, ay + as, bx + bs / 2, by - 2],
        mid = (y + v) / 2;
      ctx.moveTo(x, y);
      ctx.bezierCurveTo(x, mid, u, mid, u, v);
    } else {
      const [x, y, u, v] = [ax + as, ay + as / 2, bx - 2, by + bs / 2],
        mid = (scene.stage + scene.left) / 2;
      ctx.moveTo(x, y);
      ctx.bezierCurveTo(mid, y, mid, v, u, v);
    }
    ctx.globalAlpha = 0.8;
    ctx.lineWidth = 1.5;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  return (message) => {
    const arrives = !now || now.arrays.shown !== message.arrays.shown;
    now = message;
    scene = layout(now.width);
    scene.image = picture(now.arrays.shown);
    const pin = now.header.pin,
      at = (v) => Math.min(scene.grid - 1, Math.floor(v * scene.grid));
    scene.pinned = pin ? at(pin[1]) * scene.grid + at(pin[0]) : -1;
    hovered = Math.min(hovered, scene.count - 1);
    if (arrives && flown === 0) {
      stop = animate(1200, (t) => {
        flown = t;
        draw();
      });
    }
    draw();
  };
}
