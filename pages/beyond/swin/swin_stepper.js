// One pair of Swin blocks, step by step: patches stay themselves (their picture, their number) while windows roll.
// header: {rows, cols, window, shift, pin}
// arrays: shown (S, S, 3) uint8; ids (rows, cols) uint8; plain, index (windows, M M) int32;
//         allowed (windows, M M, M M) uint8; attn, unmasked the same, float32; leak (patches) float32

import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { animate } from '../../views/kit/motion.js';
import { PALETTE } from '../../views/kit/palette.js';
import { blit, offscreen, picture } from '../../views/kit/pixels.js';
import { rgb } from '../../views/kit/ramp.js';

const GAP = 14,
  DWELL_MS = 1100;
// What holds at each stage: gap between windows, how far rolled, region tint.
const STAGES = [
  { key: 'tokens', name: 'Tokens', gap: 0, roll: 0, tint: 0 },
  { key: 'partition', name: 'Partition', gap: 1, roll: 0, tint: 0 },
  { key: 'roll', name: 'Roll', gap: 0, roll: 1, tint: 0 },
  { key: 'ids', name: 'Region ids', gap: 0, roll: 1, tint: 1 },
  { key: 'again', name: 'Partition', gap: 1, roll: 1, tint: 1 },
  { key: 'mask', name: 'Mask', gap: 1, roll: 1, tint: 1 },
  { key: 'attention', name: 'Attention', gap: 1, roll: 1, tint: 0 },
  { key: 'reverse', name: 'Reverse', gap: 0, roll: 1, tint: 0 },
  { key: 'unroll', name: 'Unroll', gap: 0, roll: 0, tint: 0 },
];
const LAST = STAGES.length - 1,
  MASK = 5,
  ATTENTION = 6;
const mix = (a, b, t) => a + (b - a) * t;
const plural = (n, word) => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;

/** [r, g, b] of '#rrggbb' or 'rgb(r, g, b)'. */
const channels = (color) => (color.startsWith('#') ? rgb(color) : color.match(/\d+/g).slice(0, 3).map(Number));

/** Gap, roll and tint between two stages; windows close before they roll. */
function pose(at) {
  const low = Math.min(LAST - 1, Math.floor(at)),
    f = at - low,
    a = STAGES[low],
    b = STAGES[low + 1];
  const closing = low === 1;
  return {
    gap: mix(a.gap, b.gap, closing ? Math.min(1, f / 0.35) : f),
    roll: mix(a.roll, b.roll, closing ? Math.max(0, (f - 0.35) / 0.65) : f),
    tint: mix(a.tint, b.tint, f),
  };
}

export default function swinStepper({ root, trigger, onUnmount }) {
  let now = null,
    at = 0,
    hover = -1,
    pinned = 0,
    playing = false,
    stop = () => {},
    timer = 0;
  let sheet = null,
    tinted = null,
    side = 0,
    slots = null,
    tile = null,
    matrices = new Map(),
    shut = null,
    frames = 0,
    dragging = false,
    goal = 0;
  const on = { leak: false };

  const bar = el(root, 'div', { class: 'sw-bar', role: 'group', 'aria-label': 'Stages' });
  const buttons = STAGES.map((stage, i) => {
    const node = el(bar, 'button', { type: 'button', 'data-stage': stage.key });
    node.name_ = el(node, 'span', { class: 'sw-name' }, `${i + 1} ${stage.name}`);
    node.shape = el(node, 'span', { class: 'vv-mono vv-muted' });
    node.onclick = () => {
      pause();
      go(i);
    };
    return node;
  });
  const drive = el(root, 'div', { class: 'vv-row sw-drive' });
  const press = (text, label, act) => {
    const node = el(drive, 'button', { type: 'button', 'aria-label': label }, text);
    node.onclick = act;
    return node;
  };
  const back = press('◀', 'One step back', () => {
    const to = (goal ?? Math.ceil(at)) - 1;
    pause();
    go(to);
  });
  const play = press('▶ Play', 'Play', () => (playing ? pause() : begin()));
  const next = press('▶', 'One step forwards', () => {
    const to = (goal ?? Math.floor(at)) + 1;
    pause();
    go(to);
  });
  const scrub = el(drive, 'input', {
    type: 'range',
    min: 0,
    max: LAST,
    step: 0.01,
    value: 0,
    'aria-label': 'Place between the stages',
  });
  scrub.oninput = () => {
    pause();
    dragging = true;
    set(Number(scrub.value));
    goal = Number.isInteger(at) ? at : null;
  };
  scrub.onchange = () => {
    dragging = false;
  };
  const leak = el(drive, 'button', { type: 'button', 'aria-pressed': 'false' }, 'Without the mask');
  leak.title = 'Leaves the mask out of the shifted block: what would each patch also read?';
  leak.onclick = () => {
    on.leak = !on.leak;
    leak.setAttribute('aria-pressed', String(on.leak));
    drawAll();
  };
  const told = el(root, 'div', { class: 'sw-told', 'data-role': 'told' });

  const layout = el(root, 'div', { class: 'sw-layout' });
  const left = el(layout, 'div', { class: 'sw-left' }),
    right = el(layout, 'div', { class: 'sw-right' });
  const map = canvas(left, { class: 'sw-map' });
  const title = el(right, 'div', { class: 'sw-title', 'data-role': 'title' });
  const place = el(right, 'div', { class: 'vv-muted', 'data-role': 'place' });
  const pair = el(right, 'div', { class: 'sw-pair' });
  const [regular, shifted] = ['regular', 'shifted'].map((kind) => {
    const box = el(pair, 'div');
    const self = {
      kind,
      head: el(box, 'div', { class: 'sw-head' }),
      map: canvas(box),
      note: el(box, 'div', { class: 'sw-note', 'data-role': kind }),
    };
    return self;
  });
  const matrixRow = el(right, 'div', { class: 'sw-matrix' });
  const matrix = canvas(matrixRow, { class: 'sw-cross' });
  const matrixSide = el(matrixRow, 'div');
  const matrixHead = el(matrixSide, 'div', { class: 'sw-head' });
  const matrixNote = el(matrixSide, 'div', { class: 'sw-note sw-lines', 'data-role': 'matrix' });
  const key = el(matrixSide, 'div', { class: 'sw-key' });
  const allHead = el(root, 'div', { class: 'sw-head sw-above', 'data-role': 'all' });
  const all = canvas(root, { class: 'sw-cross' });
  const tip = tooltip(root),
    say = live(root);

  // ------------------------------------------------------------ what is where
  const H = () => now.header;
  const count = () => H().rows * H().cols;
  const cells = () => H().window ** 2;
  const windowsAcross = () => H().cols / H().window;
  const active = () => (hover >= 0 ? hover : pinned);
  const stage = () => Math.round(at);
  const isShifted = () => at > 1.5;
  const label = (p) => `${p + 1}`;
  const spot = (p) => `row ${Math.floor(p / H().cols) + 1}, column ${(p % H().cols) + 1}`;

  function findSlots() {
    const find = (data) => {
      const out = new Int32Array(count());
      data.forEach((p, slot) => {
        out[p] = slot;
      });
      return out;
    };
    slots = { regular: find(now.arrays.plain.data), shifted: find(now.arrays.index.data) };
  }
  /** The keys that share a patch's window, in slot order: {patch, allowed, weight, unmasked}. */
  function keysOf(p, kind) {
    const n = cells(),
      slot = slots[kind][p],
      w = Math.floor(slot / n),
      q = slot % n;
    const index = (kind === 'regular' ? now.arrays.plain : now.arrays.index).data;
    return Array.from({ length: n }, (_, k) => {
      const i = (w * n + q) * n + k;
      return {
        patch: index[w * n + k],
        allowed: kind === 'regular' || now.arrays.allowed.data[i] === 1,
        weight: now.arrays.attn.data[i],
        unmasked: now.arrays.unmasked.data[i],
      };
    });
  }
  /** Top left of a patch on the stage, in pixels; where it wraps it is drawn a second time. */
  function corner(p, { gap, roll }) {
    const { rows, cols, window: M, shift } = H(),
      step = tile.step;
    const wrap = (v, n) => ((v % n) + n) % n;
    const r = wrap(Math.floor(p / cols) - shift * roll, rows),
      c = wrap((p % cols) - shift * roll, cols);
    const x0 = ((1 - gap) * GAP * (cols / M - 1)) / 2,
      y0 = ((1 - gap) * GAP * (rows / M - 1)) / 2;
    const open = (v) => Math.floor(Math.round(v) / M) * GAP * gap;
    return { x: x0 + c * step + open(c), y: y0 + r * step + open(r), c, r, x0, y0 };
  }

  // ------------------------------------------------------------ drawing
  /** Patches with their numbers, once plain and once tinted by region: a frame only copies from them. */
  function paint() {
    const { rows, cols } = H(),
      step = tile.step,
      scale = window.devicePixelRatio || 1,
      { colors } = now;
    const make = () => {
      const node = document.createElement('canvas'),
        ctx = node.getContext('2d');
      node.width = Math.ceil(cols * step * scale);
      node.height = Math.ceil(rows * step * scale);
      ctx.setTransform(scale, 0, 0, scale, 0, 0);
      return { node, ctx, scale };
    };
    const image = picture(now.arrays.shown);
    sheet = make();
    tinted = make();
    for (const one of [sheet, tinted]) blit(one.ctx, image, 0, 0, cols * step, rows * step, image.width > cols * step);
    // The region belongs to the place after the roll: look it up there.
    for (let p = 0; p < count(); p++) {
      const x = (p % cols) * step,
        y = Math.floor(p / cols) * step,
        id = regionOf(p);
      if (id) {
        tinted.ctx.globalAlpha = 0.62;
        tinted.ctx.fillStyle = regionColor(id);
        tinted.ctx.fillRect(x, y, step, step);
        tinted.ctx.globalAlpha = 1;
      }
      const px = Math.max(9, Math.min(15, step * 0.32));
      for (const [one, text] of [
        [sheet, label(p)],
        [tinted, label(p)],
      ])
        if (step >= 17) write(one.ctx, text, x + 3, y + 2, px, 'left', 'top');
      if (step >= 24) write(tinted.ctx, `id ${id}`, x + step - 3, y + step - 3, Math.min(px, 12), 'right', 'bottom');
      else write(tinted.ctx, `${id}`, x + step - 2, y + step - 1, Math.max(9, px), 'right', 'bottom');
    }
    function write(ctx, text, x, y, px, align, base) {
      ctx.font = `600 ${px}px ${colors.font}`;
      ctx.textAlign = align;
      ctx.textBaseline = base;
      ctx.lineWidth = 2.5;
      ctx.lineJoin = 'round';
      ctx.strokeStyle = 'rgba(0,0,0,0.75)';
      ctx.fillStyle = '#fff';
      ctx.strokeText(text, x, y);
      ctx.fillText(text, x, y);
    }
  }
  function regionOf(p) {
    const { rows, cols, shift } = H(),
      r = (Math.floor(p / cols) - shift + rows) % rows,
      c = ((p % cols) - shift + cols) % cols;
    return now.arrays.ids.data[r * cols + c];
  }
  const regionColor = (id) => PALETTE.HEADS[id - 1];

  function drawStage() {
    const p0 = pose(at),
      { rows, cols, window: M } = H(),
      step = tile.step,
      { colors } = now;
    const ctx = map.size(side, tile.height);
    const keys = new Map(keysOf(active(), isShifted() ? 'shifted' : 'regular').map((k) => [k.patch, k]));
    const closed = p0.gap < 0.02,
      first = corner(0, { gap: p0.gap, roll: 0 });
    ctx.save();
    if (closed) {
      ctx.beginPath();
      ctx.rect(first.x0, first.y0, cols * step, rows * step);
      ctx.clip();
    }
    for (let p = 0; p < count(); p++) {
      const at0 = corner(p, p0);
      // A patch that leaves at one edge comes in at the other: it is drawn at both while it crosses.
      const xs = closed && at0.c > cols - 1 + 1e-6 ? [at0.x, at0.x - cols * step] : [at0.x];
      const ys = closed && at0.r > rows - 1 + 1e-6 ? [at0.y, at0.y - rows * step] : [at0.y];
      for (const x of xs) for (const y of ys) drawPatch(ctx, p, x, y, p0, keys);
    }
    ctx.restore();
    // Windows as thin frames while the grid is closed: at rest they are where the gaps will open.
    if (closed && Math.abs(at - stage()) < 0.01 && stage() > 0 && stage() < LAST) {
      ctx.strokeStyle = colors.ink;
      ctx.lineWidth = 1.5;
      for (let r = 0; r < rows / M; r++)
        for (let c = 0; c < cols / M; c++)
          ctx.strokeRect(first.x0 + c * M * step, first.y0 + r * M * step, M * step, M * step);
    }
    for (const [p, width, color] of [[active(), 3, colors.query]]) {
      const { x, y } = corner(p, p0);
      ctx.strokeStyle = '#fff';
      ctx.lineWidth = width + 2;
      ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
      ctx.strokeStyle = color;
      ctx.lineWidth = width;
      ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    }
    frames += 1;
    root.dataset.frames = String(frames);
  }
  function drawPatch(ctx, p, x, y, { tint }, keys) {
    const { cols } = H(),
      step = tile.step,
      sx = (p % cols) * step * sheet.scale,
      sy = Math.floor(p / cols) * step * sheet.scale,
      s = step * sheet.scale;
    ctx.drawImage(sheet.node, sx, sy, s, s, x, y, step, step);
    if (tint > 0.01) {
      ctx.globalAlpha = tint;
      ctx.drawImage(tinted.node, sx, sy, s, s, x, y, step, step);
      ctx.globalAlpha = 1;
    }
    overlay(ctx, p, x, y, step, keys, hover >= 0, isShifted());
    ctx.strokeStyle = 'rgba(255,255,255,0.45)';
    ctx.lineWidth = 0.75;
    ctx.strokeRect(x, y, step, step);
  }
  /** How a patch stands to the query: a key it may attend to, a masked neighbour, or outside its window. */
  function overlay(ctx, p, x, y, step, keys, strong, shiftedBlock) {
    const found = keys.get(p),
      { colors } = now,
      attending = shiftedBlock && stage() >= ATTENTION;
    if (!found) {
      if (strong) {
        ctx.globalAlpha = 0.74;
        ctx.fillStyle = colors.paper;
        ctx.fillRect(x, y, step, step);
        ctx.globalAlpha = 1;
      }
      return;
    }
    if (found.allowed || (on.leak && shiftedBlock)) {
      const leaks = !found.allowed,
        weight = leaks || on.leak ? found.unmasked : found.weight;
      ctx.globalAlpha = attending ? Math.min(0.85, Math.sqrt(weight) * 1.4) : strong ? 0.28 : 0.16;
      ctx.fillStyle = leaks ? colors.primary : colors.query;
      ctx.fillRect(x, y, step, step);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = leaks ? colors.primary : colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    } else hatch(ctx, x, y, step, strong);
  }
  function hatch(ctx, x, y, step, strong) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(x, y, step, step);
    ctx.clip();
    ctx.globalAlpha = strong ? 0.55 : 0.3;
    ctx.fillStyle = now.colors.paper;
    ctx.fillRect(x, y, step, step);
    ctx.globalAlpha = strong ? 0.95 : 0.7;
    ctx.strokeStyle = now.colors.ink;
    ctx.lineWidth = 1.25;
    ctx.beginPath();
    for (let d = -step; d < step; d += 6) {
      ctx.moveTo(x + d, y + step);
      ctx.lineTo(x + d + step, y);
    }
    ctx.stroke();
    ctx.restore();
  }
  function drawMini({ kind, head, map: mini, note }) {
    const { rows, cols, shift } = H(),
      width = tile.mini,
      step = width / cols,
      ctx = mini.size(width, step * rows),
      { colors } = now;
    const keys = new Map(keysOf(active(), kind).map((k) => [k.patch, k])),
      isShift = kind === 'shifted';
    const image = tile.image;
    ctx.globalAlpha = 0.9;
    blit(ctx, image, 0, 0, width, step * rows, image.width > width);
    ctx.globalAlpha = 1;
    for (let p = 0; p < count(); p++) {
      const x = (p % cols) * step,
        y = Math.floor(p / cols) * step;
      const share = on.leak && isShift && hover < 0 ? now.arrays.leak.data[p] : 0;
      if (!keys.has(p)) {
        ctx.globalAlpha = 0.66;
        ctx.fillStyle = colors.paper;
        ctx.fillRect(x, y, step, step);
        ctx.globalAlpha = 1;
        if (share > 0) {
          ctx.globalAlpha = Math.min(0.8, share);
          ctx.fillStyle = colors.primary;
          ctx.fillRect(x, y, step, step);
          ctx.globalAlpha = 1;
        }
      } else if (keys.get(p).allowed || (on.leak && isShift)) {
        ctx.globalAlpha = 0.35;
        ctx.fillStyle = keys.get(p).allowed ? colors.query : colors.primary;
        ctx.fillRect(x, y, step, step);
        ctx.globalAlpha = 1;
      } else hatch(ctx, x, y, step, true);
    }
    const x = (active() % cols) * step,
      y = Math.floor(active() / cols) * step;
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 4.5;
    ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2.5;
    ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    const open = [...keys.values()].filter((k) => k.allowed).length,
      shut = keys.size - open;
    head.textContent = isShift ? `Shifted by ${shift}: SW-MSA` : 'Regular: W-MSA';
    if (!isShift) note.textContent = `reads all ${keys.size} patches of its window`;
    else if (!shut) note.textContent = `reads all ${keys.size}: nothing here was wrapped`;
    else if (on.leak) {
      const lost = [...keys.values()].filter((k) => !k.allowed).reduce((sum, k) => sum + k.unmasked, 0);
      note.textContent = `reads ${keys.size}, ${shut} of them from across the edge: ${(100 * lost).toFixed(0)} % of its attention leaks`;
    } else note.textContent = `reads ${open} of ${keys.size}; ${shut} only look adjacent after the roll: masked`;
    mini.node.setAttribute('role', 'img');
    mini.node.setAttribute('aria-label', `${head.textContent}: patch ${active() + 1} ${note.textContent}`);
  }
  /** Colour of one (query, key) cell at this stage: forbidden, allowed, or a weight. */
  function cellStyle(w, q, k) {
    const n = cells(),
      i = (w * n + q) * n + k,
      colors = tile.rgb;
    const allowed = !isShifted() || now.arrays.allowed.data[i] === 1;
    if (isShifted() && stage() >= ATTENTION) {
      const weight = (on.leak ? now.arrays.unmasked : now.arrays.attn).data[i];
      return [allowed ? colors.query : colors.primary, Math.min(1, Math.sqrt(weight))];
    }
    if (allowed) return [colors.query, 0.3];
    return on.leak ? [colors.primary, 0.5] : [colors.ink, 0.72];
  }
  /** A window's matrix as a small picture, kept: pointing at a patch draws no cell anew. */
  function cellImage(w) {
    const mode = `${w} ${isShifted()} ${stage() >= ATTENTION} ${on.leak}`;
    if (matrices.has(mode)) return matrices.get(mode);
    const n = cells(),
      image = new ImageData(n, n);
    for (let q = 0; q < n; q++)
      for (let k = 0; k < n; k++) {
        const [color, alpha] = cellStyle(w, q, k);
        image.data.set([...color, Math.round(255 * alpha)], 4 * (q * n + k));
      }
    const node = offscreen(image);
    matrices.set(mode, node);
    return node;
  }
  function drawCells(ctx, w, x, y, width, rowLit) {
    const step = width / cells();
    ctx.fillStyle = now.colors.panel;
    ctx.fillRect(x, y, width, width);
    blit(ctx, cellImage(w), x, y, width, width);
    if (rowLit >= 0) {
      ctx.strokeStyle = now.colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(x, y + rowLit * step, width, step);
    }
  }
  const home = () => {
    const slot = slots[isShifted() ? 'shifted' : 'regular'][active()];
    return { w: Math.floor(slot / cells()), q: slot % cells() };
  };
  const masked = (w) => (isShifted() ? shut[w] : 0);
  function countMasked() {
    const n = cells() ** 2,
      { data } = now.arrays.allowed;
    shut = Array.from({ length: data.length / n }, (_, w) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += 1 - data[w * n + i];
      return sum;
    });
  }
  function drawMatrix() {
    const { w, q } = home(),
      width = tile.matrix,
      ctx = matrix.size(width, width),
      n = cells();
    drawCells(ctx, w, 0, 0, width, q);
    const attending = isShifted() && stage() >= ATTENTION;
    matrixHead.textContent = `Window ${w + 1}: ${attending ? 'attention' : 'who may look at whom'}`;
    const closed = masked(w);
    matrixNote.textContent =
      `rows: ${n} queries, columns: ${n} keys\n` +
      (isShifted()
        ? `${closed.toLocaleString('en')} of ${(n * n).toLocaleString('en')} pairs masked`
        : 'no mask: a regular block') +
      `\nthe marked row is patch ${active() + 1}`;
    key.replaceChildren();
    const entries = [['query', 'may attend'], on.leak ? ['leak', 'leaks in'] : ['masked', 'masked, score − 100']];
    for (const [kind, text] of attending
      ? [['query', 'weight'], ...(on.leak ? [['leak', 'leaked weight']] : [])]
      : entries) {
      const item = el(key, 'span', { class: 'sw-item' });
      el(item, 'i', { class: `sw-swatch sw-${kind}` });
      el(item, 'span', {}, text);
    }
  }
  const allGeometry = () => {
    const total = count() / cells(),
      across = windowsAcross(),
      down = total / across;
    const gap = 6,
      width = Math.max(10, Math.min(96, Math.floor((now.width - gap * (across - 1)) / across)));
    return { total, across, down, gap, width };
  };
  function drawAllWindows() {
    const g = allGeometry(),
      ctx = all.size(g.across * (g.width + g.gap) - g.gap, g.down * (g.width + g.gap) - g.gap),
      { w } = home();
    let touched = 0,
      pairs = 0;
    for (let i = 0; i < g.total; i++) {
      const x = (i % g.across) * (g.width + g.gap),
        y = Math.floor(i / g.across) * (g.width + g.gap);
      touched += masked(i) > 0;
      pairs += masked(i);
      drawCells(ctx, i, x, y, g.width, -1);
      if (i === w) {
        ctx.strokeStyle = now.colors.query;
        ctx.lineWidth = 2;
        ctx.strokeRect(x + 1, y + 1, g.width - 2, g.width - 2);
      }
    }
    const every = g.total * cells() ** 2;
    allHead.textContent = !isShifted()
      ? `Regular windows: all ${plural(g.total, 'window')}, nothing masked (query × key)`
      : stage() >= ATTENTION
        ? `Attention of all ${plural(g.total, 'window')} (query × key), ${on.leak ? 'without the mask' : 'masked'}`
        : `The mask of each window (query × key): ${plural(pairs, 'pair')} of ${every.toLocaleString('en')} in ${touched} of ${plural(g.total, 'window')}`;
  }
  function drawText() {
    const k = stage(),
      { rows, cols, window: M, shift } = H(),
      W = count() / cells(),
      n = cells(),
      p = active();
    const lines = [
      `${rows} × ${cols} tokens of C values each, in reading order.`,
      `Even block, W-MSA: cut into ${W} windows of ${M} × ${M}. Every token attends inside its own window only.`,
      shift
        ? `Odd block: torch.roll(x, (−${shift}, −${shift})). Everything moves ${shift} up and left; what leaves at one edge enters at the other.`
        : 'Without a shift nothing rolls: both blocks see the same windows.',
      shift
        ? 'Number the regions that were one piece of picture before the roll: slices (0, −M), (−M, −s), (−s, end) on both axes.'
        : 'One region: nothing was wrapped.',
      'Cut into windows again: the same places on the grid, other patches inside.',
      shift
        ? 'Where two ids differ inside a window, −100 is added to the score: after the softmax, nothing is left. Point at patch 1: its window holds three other corners of the picture.'
        : 'All ids are equal: nothing to mask.',
      'Softmax in each window. Here Q = K = the patches’ mean colours, so that no weights are needed; a real Swin’s is below.',
      'Put the windows side by side again: the grid, still rolled.',
      shift ? `torch.roll(x, (${shift}, ${shift})): every token is back in its place.` : 'Every token is in its place.',
    ];
    told.textContent = lines[k];
    title.textContent = `Patch ${p + 1} · ${spot(p)}`;
    const { w, q } = home();
    place.textContent =
      `${isShifted() ? 'after the roll' : 'now'} in window ${w + 1}, slot ${q + 1} of ${n}` +
      (isShifted() ? ` · region ${regionOf(p)}` : '');
    buttons.forEach((node, i) => {
      if (i === k) node.setAttribute('aria-current', 'step');
      else node.removeAttribute('aria-current');
    });
    const full = `(1,${rows},${cols},C)`,
      cut = `(${W},${n},C)`;
    const shapes = [full, cut, full, `(${rows},${cols})`, cut, `(${W},${n},${n})`, `(${W},h,${n},${n})`, full, full];
    buttons.forEach((node, i) => {
      node.shape.textContent = shapes[i];
    });
    back.disabled = at <= 0.001;
    next.disabled = at >= LAST - 0.001;
    root.dataset.stage = STAGES[k].key;
    root.dataset.at = at.toFixed(2);
    if (!dragging) scrub.value = at;
    scrub.setAttribute('aria-valuetext', `${k + 1}: ${STAGES[k].name}`);
  }
  function drawSide() {
    drawMini(regular);
    drawMini(shifted);
    drawMatrix();
    drawAllWindows();
  }
  function drawAll() {
    drawStage();
    drawText();
    drawSide();
  }

  // ------------------------------------------------------------ motion
  function set(value) {
    const before = stage(),
      kind = isShifted();
    at = Math.max(0, Math.min(LAST, value));
    drawStage();
    // Matrices and texts change between stages, not between frames.
    if (stage() !== before || kind !== isShifted() || Number.isInteger(at)) {
      drawText();
      drawSide();
    } else {
      root.dataset.at = at.toFixed(2);
      if (!dragging) scrub.value = at;
    }
  }
  function go(target, done = () => {}) {
    stop();
    const to = Math.max(0, Math.min(LAST, target)),
      from = at,
      began = performance.now(),
      drawn = frames;
    goal = to; // where it is heading: a second press in mid-air goes one further
    if (to === from) {
      done();
      return;
    }
    const rolls = pose(from).roll !== pose(to).roll;
    stop = animate(
      rolls ? 900 : 450,
      (t) => set(t === 1 ? to : mix(from, to, t)),
      () => {
        const seconds = (performance.now() - began) / 1000;
        if (seconds > 0.1) root.dataset.fps = ((frames - drawn) / seconds).toFixed(1);
        say(`Stage ${to + 1}, ${STAGES[Math.round(to)].name}. ${told.textContent}`);
        done();
      },
    );
  }
  function begin() {
    playing = true;
    face();
    if (at >= LAST) {
      set(0);
      goal = 0;
    }
    advance();
  }
  function advance() {
    if (!playing) return;
    if (at >= LAST) {
      pause();
      return;
    }
    go(Math.floor(at) + 1, () => {
      timer = setTimeout(advance, DWELL_MS);
    });
  }
  function pause() {
    playing = false;
    clearTimeout(timer);
    stop();
    goal = Number.isInteger(at) ? at : null;
    face();
  }
  function face() {
    play.textContent = playing ? '❚❚ Pause' : '▶ Play';
    play.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  }
  onUnmount(() => {
    playing = false;
    clearTimeout(timer);
    stop();
  });
  drive.onkeydown = (event) => {
    if (event.target === scrub) return;
    if (event.key === 'ArrowRight') {
      event.preventDefault();
      next.click();
    }
    if (event.key === 'ArrowLeft') {
      event.preventDefault();
      back.click();
    }
  };

  // ------------------------------------------------------------ pointing
  function patchAt(x, y) {
    const p0 = pose(at),
      { rows, cols } = H(),
      step = tile.step;
    for (let p = 0; p < count(); p++) {
      const c = corner(p, p0);
      const inX = x - c.x,
        inY = y - c.y;
      if (
        ((inX >= 0 && inX < step) || (c.c > cols - 1 && inX + cols * step >= 0 && inX + cols * step < step)) &&
        ((inY >= 0 && inY < step) || (c.r > rows - 1 && inY + rows * step >= 0 && inY + rows * step < step))
      )
        return p;
    }
    return -1;
  }
  /** Keys walk the grid as it stands now: after the roll, the neighbour is the rolled one. */
  const rolledNow = () => (pose(at).roll > 0.5 ? H().shift : 0);
  const cellOf = (p) => {
    const { rows, cols } = H(),
      s = rolledNow();
    return ((Math.floor(p / cols) - s + rows) % rows) * cols + (((p % cols) - s + cols) % cols);
  };
  const patchIn = (cell) => {
    const { rows, cols } = H(),
      s = rolledNow();
    return ((Math.floor(cell / cols) + s) % rows) * cols + (((cell % cols) + s) % cols);
  };
  gridNavigation(map.node, {
    label: 'The picture’s patches; N and B step, P plays, M leaves the mask out',
    rows: () => H().rows,
    cols: () => H().cols,
    cellAt: (x, y) => {
      const p = patchAt(x, y);
      return p < 0 ? -1 : cellOf(p);
    },
    hover(cell, event) {
      hover = cell < 0 ? -1 : patchIn(cell);
      drawAll();
      if (event?.type === 'keydown' && hover >= 0)
        say(`${title.textContent}. ${regular.note.textContent}. Shifted: ${shifted.note.textContent}`);
    },
    pick(cell) {
      pinned = patchIn(cell);
      const { rows, cols } = H();
      trigger('pin', [((pinned % cols) + 0.5) / cols, (Math.floor(pinned / cols) + 0.5) / rows]);
      drawAll();
    },
    keys: { n: () => next.click(), b: () => back.click(), p: () => play.click(), m: () => leak.click() },
  });
  gridNavigation(all.node, {
    label: 'One matrix per window, query by key',
    rows: () => allGeometry().down,
    cols: () => allGeometry().across,
    hover(i) {
      if (i < 0) {
        hover = -1;
        tip.hide();
        drawAll();
        return;
      }
      const g = allGeometry(),
        index = isShifted() ? now.arrays.index : now.arrays.plain;
      hover = index.data[i * cells()];
      drawAll();
      const text = `Window ${i + 1}: ${masked(i).toLocaleString('en')} of ${(cells() ** 2).toLocaleString('en')} pairs masked`;
      say(text);
      tip.show(
        all.node.offsetLeft + (i % g.across) * (g.width + g.gap),
        all.node.offsetTop + Math.floor(i / g.across) * (g.width + g.gap),
        text,
      );
    },
  });

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const { header, width } = now,
      wide = width >= 760;
    layout.classList.toggle('sw-wide', wide);
    matrices.clear();
    if (fresh) {
      findSlots();
      countMasked();
      pinned = header.pin;
      hover = -1;
      pause();
      at = goal = Math.round(at);
    }
    side = wide ? Math.min(500, Math.floor(width * 0.52)) : Math.min(width, 500);
    const step =
      (side - GAP * (Math.max(header.cols, header.rows) / header.window - 1)) / Math.max(header.cols, header.rows);
    const rest = wide ? width - side - 32 : width;
    tile = {
      rgb: Object.fromEntries(['query', 'primary', 'ink'].map((name) => [name, channels(now.colors[name])])),
      step,
      height: step * header.rows + GAP * (header.rows / header.window - 1),
      image: picture(now.arrays.shown),
      mini: Math.min(192, Math.floor((rest - 16) / 2)),
      matrix: Math.min(168, Math.floor(rest * 0.5)),
    };
    left.style.width = `${side}px`;
    paint();
    drawAll();
  };
}
