// The similarity grid of the ViT paper's figure 7: tile (r, c) of a mosaic is the map of position (r, c)'s similarity to all.
// One canvas per encoding, one scale for all; what is under the pointer in one is lit in the others and on the picture.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT } from '../../views/kit/ramp.js';

const GUTTER = 2,
  HEADINGS = 18,
  GAP = 24,
  FRAME_MS = 420;

/** Two decimals with a true minus sign; three where a panel carries exact values. */
function valueText(value, digits = 2) {
  return `${value < -0.5 * 10 ** -digits ? '−' : ''}${Math.abs(value).toFixed(digits)}`;
}

export default function similarityView({ root, trigger, onUnmount }) {
  const say = live(root);
  const stage = el(root, 'div', { class: 'sim-stage' });
  const mosaics = []; // one per encoding: {box, title, note, map, nav}
  const lens = { box: el(stage, 'div') };
  lens.title = el(lens.box, 'div', { class: 'sim-title' });
  lens.note = el(lens.box, 'div', { class: 'sim-note' });
  lens.map = canvas(lens.box, { class: 'sim-map' });
  const foot = el(root, 'div', { class: 'sim-foot' });
  const left = el(foot, 'div'),
    right = el(foot, 'div', { class: 'sim-pair' });
  const scale = canvas(left, { role: 'img' });
  const time = el(left, 'div', { class: 'sim-time' });
  const play = el(time, 'button', { type: 'button' }, '▶ Play');
  const slider = el(time, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Moment of training' });
  const moment = el(time, 'span');
  const told = el(left, 'div', { class: 'sim-told vv-muted' });
  const photo = canvas(right, { role: 'img' });
  const read = el(right, 'div', { class: 'sim-read' });
  const lines = Array.from({ length: 5 }, () => el(read, 'div'));

  let now = null,
    seen = null,
    images = [];
  let pinned = [0.5, 0.5],
    query = null,
    key = null,
    active = 0,
    frame = 0,
    playing = 0;
  onUnmount(() => clearInterval(playing));

  // ---- places: everything is linked through normalised places, so that grids of different size can stand side by side
  const panels = () => now.header.panels;
  const indexAt = ([rows, cols], [x, y]) =>
    Math.min(rows - 1, Math.max(0, Math.floor(y * rows))) * cols +
    Math.min(cols - 1, Math.max(0, Math.floor(x * cols)));
  const centre = ([rows, cols], i) => [((i % cols) + 0.5) / cols, (Math.floor(i / cols) + 0.5) / rows];
  const count = (p) => panels()[p].grid[0] * panels()[p].grid[1];
  const frames = () => Math.max(...panels().map((_, p) => now.arrays[`similarity${p}`].shape[0]));
  const frameOf = (p) => Math.round((frame * (now.arrays[`similarity${p}`].shape[0] - 1)) / Math.max(1, frames() - 1));
  const value = (p, i, j) => {
    const n = count(p),
      { data } = now.arrays[`similarity${p}`];
    return data[(frameOf(p) * n + i) * n + j] * panels()[p].gain + panels()[p].start;
  };
  const queryOf = (p) => indexAt(panels()[p].grid, query ?? pinned);
  const keyOf = (p) => {
    const wanted = key ?? (query ? null : now.header.key);
    if (wanted) return indexAt(panels()[p].grid, wanted);
    const i = queryOf(p);
    let best = -1;
    for (let j = 0; j < count(p); j++) if (j !== i && (best < 0 || value(p, i, j) > value(p, i, best))) best = j;
    return best;
  };
  const place = (p, i) => `(${Math.floor(i / panels()[p].grid[1])}, ${i % panels()[p].grid[1]})`;

  const table = () => (now.header.stretched ? SEQUENTIAL_LUT : DIVERGING_LUT);

  // ---- drawing
  function imageOf(p) {
    const at = frameOf(p),
      n = count(p),
      [rows, cols] = panels()[p].grid,
      name = `${p}:${at}`;
    if (images[p]?.name === name) return images[p].image;
    const { data } = now.arrays[`similarity${p}`],
      { gain, start } = panels()[p],
      { lo, hi } = now.header;
    // Row i of the matrix becomes a rows x cols map; the maps are stacked, one below the other.
    const image = heat(
      data.subarray(at * n * n, (at + 1) * n * n),
      n * rows,
      cols,
      table(),
      (lo - start) / gain,
      (hi - start) / gain,
    );
    images[p] = { name, image };
    return image;
  }

  function drawMosaic(p) {
    const { map, tile, box } = mosaics[p],
      [rows, cols] = panels()[p].grid,
      { colors } = now;
    const side = tile * cols + GUTTER * (cols - 1) + HEADINGS,
      height = tile * rows + GUTTER * (rows - 1) + HEADINGS;
    const ctx = map.size(side, height),
      image = imageOf(p);
    ctx.font = `11px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    const every = Math.ceil((cols > 10 ? 20 : 12) / (tile + GUTTER));
    for (let c = 0; c < cols; c += every) ctx.fillText(c, HEADINGS + c * (tile + GUTTER) + tile / 2, HEADINGS / 2 - 2);
    for (let r = 0; r < rows; r += every) ctx.fillText(r, HEADINGS / 2 - 2, HEADINGS + r * (tile + GUTTER) + tile / 2);
    ctx.imageSmoothingEnabled = false;
    for (let i = 0; i < rows * cols; i++) {
      const x = HEADINGS + (i % cols) * (tile + GUTTER),
        y = HEADINGS + Math.floor(i / cols) * (tile + GUTTER);
      ctx.drawImage(image, 0, i * rows, cols, rows, x, y, tile, tile);
    }
    const frameAt = (i, color, width) => {
      const x = HEADINGS + (i % cols) * (tile + GUTTER),
        y = HEADINGS + Math.floor(i / cols) * (tile + GUTTER);
      for (const [stroke, wide] of [
        [colors.paper, width + 3],
        [color, width],
      ]) {
        ctx.strokeStyle = stroke;
        ctx.lineWidth = wide;
        ctx.strokeRect(x - width / 2, y - width / 2, tile + width, tile + width);
      }
    };
    if (key) frameAt(keyOf(p), colors.ink, 1.5);
    frameAt(queryOf(p), colors.query, 2.5);
  }

  function drawLens() {
    const p = active,
      [rows, cols] = panels()[p].grid,
      { colors } = now,
      i = queryOf(p),
      j = keyOf(p);
    const cell = Math.floor((lens.width - HEADINGS) / cols);
    const ctx = lens.map.size(cell * cols + HEADINGS, cell * rows + HEADINGS);
    ctx.font = `11px ${colors.font}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = colors.muted;
    const every = Math.ceil((cols > 10 ? 20 : 12) / cell);
    for (let c = 0; c < cols; c += every) ctx.fillText(c, HEADINGS + (c + 0.5) * cell, HEADINGS / 2 - 2);
    for (let r = 0; r < rows; r += every) ctx.fillText(r, HEADINGS / 2 - 2, HEADINGS + (r + 0.5) * cell);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(imageOf(p), 0, i * rows, cols, rows, HEADINGS, HEADINGS, cell * cols, cell * rows);
    const size = cell >= 34 ? 12 : cell >= 26 ? 10.5 : 9;
    const numbers = cell >= 18 && !now.header.raw;
    ctx.font = `${size}px ${colors.font}`;
    const span = now.header.hi - now.header.lo;
    for (let k = 0; numbers && k < rows * cols; k++) {
      const v = value(p, i, k),
        level = (v - now.header.lo) / span;
      ctx.fillStyle = (now.header.stretched ? level < 0.6 : Math.abs(level - 0.5) > 0.34) ? '#FFFFFF' : '#1B2430';
      const text = valueText(v, cell >= 30 ? 2 : 1).replace(/^(−?)0\./, '$1.');
      ctx.fillText(text, HEADINGS + ((k % cols) + 0.5) * cell, HEADINGS + (Math.floor(k / cols) + 0.5) * cell);
    }
    const ring = (k, color, width) => {
      ctx.strokeStyle = color;
      ctx.lineWidth = width;
      ctx.strokeRect(
        HEADINGS + (k % cols) * cell + width / 2,
        HEADINGS + Math.floor(k / cols) * cell + width / 2,
        cell - width,
        cell - width,
      );
    };
    if (j >= 0) ring(j, '#1B2430', 2);
    ring(i, colors.query, 3);
    lens.title.textContent = `Position ${place(p, i)}, enlarged`;
    lens.note.textContent = panels().length > 1 ? panels()[p].title : 'its similarity to every position';
  }

  function drawPhoto() {
    const side = photo.wanted,
      ctx = photo.size(side, side),
      { colors } = now,
      [rows, cols] = panels()[active].grid;
    const i = queryOf(active),
      j = keyOf(active),
      w = side / cols,
      h = side / rows;
    const box = (k) => [(k % cols) * w, Math.floor(k / cols) * h];
    ctx.globalAlpha = 0.4;
    blit(ctx, seen, 0, 0, side, side, seen.width > side);
    ctx.globalAlpha = 1;
    for (const [k, color] of [
      [j, colors.ink],
      [i, colors.query],
    ]) {
      if (k < 0) continue;
      const [x, y] = box(k);
      ctx.save();
      ctx.beginPath();
      ctx.rect(x, y, w, h);
      ctx.clip();
      blit(ctx, seen, 0, 0, side, side, seen.width > side);
      ctx.restore();
      ctx.lineWidth = 2.5;
      ctx.strokeStyle = color;
      ctx.strokeRect(x + 1, y + 1, w - 2, h - 2);
    }
    photo.node.setAttribute(
      'aria-label',
      j < 0
        ? `The picture with position ${place(active, i)} lit`
        : `The picture with positions ${place(active, i)} and ${place(active, j)} lit`,
    );
  }

  function drawScale() {
    const { header, colors } = now,
      width = scale.wanted,
      ctx = scale.size(width, 34);
    const ramp = heat(
      Float32Array.from({ length: 256 }, (_, i) => i),
      1,
      256,
      table(),
      0,
      255,
    );
    blit(ctx, ramp, 0, 0, width, 10, true);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'top';
    const middle = (header.lo + header.hi) / 2;
    for (const [v, x, align] of [
      [header.lo, 0, 'left'],
      [middle, width / 2, 'center'],
      [header.hi, width, 'right'],
    ]) {
      ctx.textAlign = align;
      const text = header.raw
        ? v.toPrecision(2)
        : header.stretched
          ? valueText(v)
          : `${v < 0 ? '−' : ''}${Math.abs(v)}`;
      ctx.fillText(v === header.hi ? `${header.unit} ${text}` : text, x, 16);
    }
    scale.node.setAttribute(
      'aria-label',
      `Colour scale: ${header.unit} from ${header.lo} to ${header.hi}${header.stretched ? '' : ', white at zero'}`,
    );
  }

  function drawRead() {
    const i = queryOf(active),
      j = keyOf(active),
      [, cols] = panels()[active].grid;
    if (j < 0) {
      lines.forEach((line) => {
        line.className = '';
        line.textContent = '';
      });
      lines[0].textContent = 'One position: no other to compare it with.';
      return lines[0].textContent;
    }
    const step = [Math.floor(j / cols) - Math.floor(i / cols), (j % cols) - (i % cols)];
    const apart = Math.hypot(...step);
    const of = (p) => valueText(value(p, queryOf(p), indexAt(panels()[p].grid, centre(panels()[active].grid, j))));
    lines[0].textContent = `${place(active, i)} and ${place(active, j)}: ${key || (!query && now.header.key) ? '' : 'most alike, '}${apart.toFixed(apart % 1 ? 2 : 0)} ${apart === 1 ? 'patch' : 'patches'} apart`;
    lines[1].className = lines[2].className = '';
    for (const p of [0, 1]) {
      const line = lines[1 + p];
      line.replaceChildren();
      if (p >= panels().length) continue;
      el(line, 'span', { class: 'sim-big' }, of(p));
      el(line, 'span', { class: 'vv-muted' }, ` ${panels().length > 1 ? panels()[p].title : now.header.unit}`);
    }
    lines[3].className = 'vv-muted vv-mono';
    lines[3].textContent = now.header.raw ? 'p_i · p_j' : 'cos = p_i·p_j / (‖p_i‖ ‖p_j‖)';
    lines[4].className = 'vv-muted';
    lines[4].textContent = `positions ${i} and ${j} in reading order, all counted from 0`;
    return `${lines[0].textContent}: ${panels()
      .map((panel, p) => `${panel.title} ${of(p)}`)
      .join(', ')}`;
  }

  function drawTime() {
    const many = frames() > 1;
    time.style.display = many ? '' : 'none';
    slider.max = String(frames() - 1);
    slider.value = String(frame);
    const stepText = (p) => panels()[p].moments[frameOf(p)] ?? '';
    const moving = panels().findIndex((_, p) => now.arrays[`similarity${p}`].shape[0] > 1);
    moment.textContent = moving >= 0 ? stepText(moving) : '';
    slider.setAttribute('aria-valuetext', moment.textContent);
    mosaics.forEach((m, p) => {
      if (p >= panels().length) return;
      m.title.textContent = panels()[p].title;
      m.note.textContent = [panels()[p].note, stepText(p)].filter(Boolean).join(' · ');
    });
    told.style.display = many ? '' : 'none';
    told.textContent = moving >= 0 ? (panels()[moving].told[frameOf(moving)] ?? '') : '';
  }

  function drawAll() {
    mosaics.slice(0, panels().length).forEach((_, p) => drawMosaic(p));
    drawTime();
    drawLens();
    drawPhoto();
    return drawRead();
  }

  // ---- pointing
  function fineCell(p, event) {
    const { map, tile } = mosaics[p],
      [rows, cols] = panels()[p].grid,
      box = map.node.getBoundingClientRect();
    const x = event.clientX - box.left - HEADINGS,
      y = event.clientY - box.top - HEADINGS,
      pitch = tile + GUTTER;
    const c = Math.floor(x / pitch),
      r = Math.floor(y / pitch);
    if (x < 0 || y < 0 || c >= cols || r >= rows) return null;
    const inside = (offset) => Math.min(0.999, (offset % pitch) / tile);
    return { tile: r * cols + c, key: [inside(x), inside(y)] };
  }
  function pin(place) {
    pinned = place;
    query = null;
    key = null;
    now.header.key = null;
    drawAll();
    trigger('pin', place);
  }

  function addMosaic(p) {
    const box = el(null, 'div');
    stage.insertBefore(box, lens.box);
    const self = {
      box,
      tile: 8,
      title: el(box, 'div', { class: 'sim-title' }),
      note: el(box, 'div', { class: 'sim-note' }),
      map: canvas(box, { class: 'sim-map' }),
    };
    mosaics[p] = self;
    gridNavigation(self.map.node, {
      label: `Similarity mosaic ${p + 1}: one map per position`,
      rows: () => panels()[p].grid[0],
      cols: () => panels()[p].grid[1],
      cellAt(x, y) {
        const box = self.map.node.getBoundingClientRect();
        return fineCell(p, { clientX: x + box.left, clientY: y + box.top })?.tile ?? -1;
      },
      hover(i, event) {
        if (i < 0) {
          query = key = null;
          drawAll();
          return;
        }
        const under = event?.clientX !== undefined ? fineCell(p, event) : null;
        active = p;
        query = centre(panels()[p].grid, i);
        key = under?.key ?? null;
        const text = drawAll();
        if (!under && text) say(text);
      },
      pick: (i) => pin(centre(panels()[p].grid, i)),
    });
  }

  gridNavigation(lens.map.node, {
    label: 'The enlarged map: similarity to every position; Enter makes that position the query',
    rows: () => panels()[active].grid[0],
    cols: () => panels()[active].grid[1],
    cellAt(x, y) {
      const [rows, cols] = panels()[active].grid,
        cell = Math.floor((lens.width - HEADINGS) / cols);
      const c = Math.floor((x - HEADINGS) / cell),
        r = Math.floor((y - HEADINGS) / cell);
      return c >= 0 && r >= 0 && c < cols && r < rows ? r * cols + c : -1;
    },
    hover(j, event) {
      key = j < 0 ? null : centre(panels()[active].grid, j);
      const text = drawAll();
      if (j >= 0 && event?.type === 'keydown') say(text);
    },
    pick: (j) => pin(centre(panels()[active].grid, j)),
  });

  function stop() {
    clearInterval(playing);
    playing = 0;
    play.textContent = '▶ Play';
  }
  play.onclick = () => {
    if (playing) return stop();
    if (frame >= frames() - 1) frame = 0;
    play.textContent = '❚❚ Pause';
    drawAll();
    playing = setInterval(() => {
      if (frame >= frames() - 1) stop();
      else {
        frame += 1;
        drawAll();
      }
    }, FRAME_MS);
  };
  slider.oninput = () => {
    stop();
    frame = Number(slider.value);
    drawAll();
  };

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    if (fresh) {
      stop();
      images = [];
      seen = now.arrays.shown ? picture(now.arrays.shown) : null;
      pinned = now.header.pin;
      query = key = null;
      frame = now.header.frame;
      active = Math.min(now.header.active ?? 0, panels().length - 1);
      while (mosaics.length < panels().length) addMosaic(mosaics.length);
    }
    const shown = panels().length,
      wide = now.width >= 720;
    const columns = wide ? shown + (shown > 1 ? 1 : 0.5) : 1;
    const column = Math.floor((now.width - 1 - GAP * (Math.ceil(columns) - 1)) / columns);
    mosaics.forEach((m, p) => {
      m.box.style.display = p < shown ? '' : 'none';
      if (p >= shown) return;
      const cols = panels()[p].grid[1],
        side = Math.min(column, 560);
      m.tile = Math.max(3, Math.floor((side - HEADINGS - GUTTER * (cols - 1)) / cols));
      m.box.style.width = `${wide ? column : now.width}px`;
    });
    lens.width = wide ? (shown > 1 ? column : Math.min(now.width - column - GAP - 1, 420)) : now.width;
    lens.box.style.width = `${lens.width}px`;
    left.style.width = `${wide ? now.width - lens.width - GAP - 1 : now.width}px`;
    right.style.width = `${lens.width}px`;
    scale.wanted = Math.min(320, now.width);
    photo.wanted = Math.min(144, Math.floor(lens.width * 0.45));
    play.style.display = reducedMotion() ? 'none' : '';
    drawScale();
    drawAll();
  };
}
