// Filter tiles: rows of P x P pictures, one sheet per model, all snapshots in one flip-book. A tile under the pointer is
// enlarged: its colours, its channels on a diverging scale, and its weights in numbers where they fit.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

const GUT = 4,
  BARS = 34,
  TILE_FRAME_MS = 420;

export default function tilesView({ root, onUnmount }) {
  const say = live(root);
  const stage = el(root, 'div', { class: 'ti-stage' });
  const left = el(stage, 'div'),
    right = el(stage, 'div', { class: 'ti-lens' });
  const area = el(left, 'div', { class: 'ti-sheets' });
  const time = el(left, 'div', { class: 'ti-time' });
  const play = el(time, 'button', { type: 'button' }, '▶ Play');
  const slider = el(time, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Moment of training' });
  const moment = el(time, 'span');
  const head = el(right, 'div', { class: 'ti-title' }),
    note = el(right, 'div', { class: 'ti-note' });
  const big = canvas(right, { role: 'img' });
  const planes = el(right, 'div', { class: 'ti-planes' });
  const read = el(right, 'div', { class: 'ti-read vv-muted' });
  const lines = Array.from({ length: 3 }, () => el(read, 'div'));
  const scaleMap = canvas(right, { role: 'img' });
  const sheets = [],
    channelMaps = [];
  let now = null,
    active = 0,
    tile = 0,
    frame = 0,
    playing = 0;
  onUnmount(() => clearInterval(playing));

  const shape = (s) => now.arrays[`tiles${s}`].shape; // frames, k, P, P, C
  const frames = () => Math.max(...now.header.sheets.map((_, s) => shape(s)[0]));
  const frameOf = (s) => Math.round((frame * (shape(s)[0] - 1)) / Math.max(1, frames() - 1));
  const columnsOf = (s) => Math.min(now.header.columns, shape(s)[1]);
  const rowsOf = (s) => Math.ceil(shape(s)[1] / columnsOf(s));
  const bytesAt = (s, k) => {
    const [, n, p, , c] = shape(s),
      size = p * p * c,
      from = (frameOf(s) * n + k) * size;
    return now.arrays[`tiles${s}`].data.subarray(from, from + size);
  };
  const ends = (s, k) => {
    const at = 2 * (frameOf(s) * shape(s)[1] + k),
      { data } = now.arrays[`ends${s}`];
    return [data[at], data[at + 1]];
  };
  const weight = (s, k, i) => {
    const [lo, hi] = ends(s, k);
    return lo + (bytesAt(s, k)[i] / 255) * (hi - lo);
  };
  const share = (s, k) => now.arrays[`shares${s}`]?.data[frameOf(s) * shape(s)[1] + k];
  const tileImage = (s, k) => {
    const [, , p, , c] = shape(s);
    return picture({ data: bytesAt(s, k), shape: [p, p, c] });
  };
  const dec = (v) =>
    `${v < 0 ? '−' : ''}${Math.abs(v) >= 1 ? Math.abs(v).toFixed(1) : Math.abs(v).toFixed(2).replace(/^0/, '')}`;

  function drawSheet(s) {
    const { map, bars, title, note: sub, told, side } = sheets[s],
      { colors, header } = now,
      cols = columnsOf(s),
      rows = rowsOf(s);
    const ctx = map.size(cols * (side + GUT) - GUT, rows * (side + GUT) - GUT);
    for (let k = 0; k < shape(s)[1]; k++)
      blit(ctx, tileImage(s, k), (k % cols) * (side + GUT), Math.floor(k / cols) * (side + GUT), side, side);
    if (s === active) {
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 2.5;
      ctx.strokeRect(
        (tile % cols) * (side + GUT) + 1.25,
        Math.floor(tile / cols) * (side + GUT) + 1.25,
        side - 2.5,
        side - 2.5,
      );
    }
    const sheet = header.sheets[s];
    title.textContent = sheet.title;
    sub.textContent = [sheet.note, sheet.moments[frameOf(s)]].filter(Boolean).join(' · ');
    told.textContent = sheet.told[frameOf(s)] ?? '';
    bars.node.style.display = now.arrays[`shares${s}`] ? '' : 'none';
    if (!now.arrays[`shares${s}`]) return;
    const width = map.width,
      b = bars.size(width, BARS),
      n = shape(s)[1],
      w = width / n;
    let top = 1e-9;
    for (let k = 0; k < n; k++) top = Math.max(top, share(s, k));
    for (let k = 0; k < n; k++) {
      const h = Math.max(1, (share(s, k) / top) * (BARS - 6));
      b.fillStyle = s === active && k === tile ? colors.query : colors.primary;
      b.fillRect(k * w, BARS - h, Math.max(1, w - 2), h);
    }
    bars.node.setAttribute(
      'aria-label',
      `Share of the variance of each of ${n} components, the first ${(100 * share(s, 0)).toFixed(1)} %`,
    );
  }

  function drawLens() {
    const { colors, header } = now,
      [, n, p, , channels] = shape(active),
      k = Math.min(tile, n - 1),
      side = right.wanted,
      main = Math.min(side, 240);
    const [lo, hi] = ends(active, k),
      peak = Math.max(Math.abs(lo), Math.abs(hi)) || 1;
    head.textContent = `${header.word[0].toUpperCase()}${header.word.slice(1)} ${k + 1} of ${n}`;
    note.textContent = header.sheets[active].title;
    const ctx = big.size(main, main);
    blit(ctx, tileImage(active, k), 0, 0, main, main);
    big.node.setAttribute('aria-label', `${head.textContent}, enlarged`);
    const plane = channels > 1 ? Math.floor((side - 16) / 3) : Math.min(side, 240);
    while (channelMaps.length < channels) channelMaps.push(canvas(planes, { role: 'img' }));
    channelMaps.forEach((map, c) => {
      map.node.style.display = c < channels ? '' : 'none';
      if (c >= channels) return;
      const draw = map.size(plane, plane + (channels > 1 ? 18 : 0)),
        cell = plane / p;
      const values = Float32Array.from({ length: p * p }, (_, i) => weight(active, k, i * channels + c));
      blit(draw, heat(values, p, p, DIVERGING_LUT, -peak, peak), 0, 0, plane, plane);
      draw.textAlign = 'center';
      draw.textBaseline = 'middle';
      if (cell >= 20) {
        draw.font = `${cell >= 30 ? 11.5 : 9}px ${colors.font}`;
        values.forEach((v, i) => {
          draw.fillStyle = Math.abs(v) / peak > 0.66 ? '#FFFFFF' : '#1B2430';
          draw.fillText(dec(v), ((i % p) + 0.5) * cell, (Math.floor(i / p) + 0.5) * cell);
        });
      }
      if (channels > 1) {
        draw.font = `12px ${colors.font}`;
        draw.fillStyle = colors.muted;
        draw.fillText(['red', 'green', 'blue'][c], plane / 2, plane + 10);
      }
      map.node.setAttribute(
        'aria-label',
        channels > 1 ? `Weights of the ${['red', 'green', 'blue'][c]} channel` : 'Weights',
      );
    });
    const part = share(active, k);
    let sum = 0;
    for (let i = 0; part !== undefined && i <= k; i++) sum += share(active, i);
    lines[0].textContent =
      part === undefined
        ? `${p} × ${p} × ${channels} weights`
        : `${(100 * part).toFixed(1)} % of the variance${k ? `; the first ${k + 1}: ${(100 * sum).toFixed(1)} %` : ''}`;
    lines[1].textContent = `weights from ${dec(lo)} to ${dec(hi)}; each tile has its own range`;
    lines[2].textContent = part === undefined ? '' : 'its sign is arbitrary';
    const bar = scaleMap.size(Math.min(side, 240), 32);
    blit(
      bar,
      heat(
        Float32Array.from({ length: 256 }, (_, i) => i),
        1,
        256,
        DIVERGING_LUT,
        0,
        255,
      ),
      0,
      4,
      scaleMap.width,
      8,
      true,
    );
    bar.font = `12px ${colors.font}`;
    bar.fillStyle = colors.muted;
    bar.textBaseline = 'top';
    for (const [t, x, a] of [
      [dec(-peak), 0, 'left'],
      ['0', scaleMap.width / 2, 'center'],
      [dec(peak), scaleMap.width, 'right'],
    ]) {
      bar.textAlign = a;
      bar.fillText(t, x, 16);
    }
    scaleMap.node.setAttribute(
      'aria-label',
      `Colour scale of the weights, from ${dec(-peak)} to ${dec(peak)}, white at zero`,
    );
    return `${head.textContent}: ${lines[0].textContent}`;
  }

  function drawAll() {
    now.header.sheets.forEach((_, s) => drawSheet(s));
    time.style.display = frames() > 1 ? '' : 'none';
    slider.max = String(frames() - 1);
    slider.value = String(frame);
    const moving = now.header.sheets.findIndex((_, s) => shape(s)[0] > 1);
    moment.textContent = moving >= 0 ? now.header.sheets[moving].moments[frameOf(moving)] : '';
    slider.setAttribute('aria-valuetext', moment.textContent);
    return drawLens();
  }

  function addSheet(s) {
    const box = el(area, 'div');
    const self = {
      box,
      side: 16,
      title: el(box, 'div', { class: 'ti-title' }),
      note: el(box, 'div', { class: 'ti-note' }),
    };
    self.map = canvas(box, { class: 'ti-map' });
    self.bars = canvas(box, { role: 'img' });
    self.told = el(box, 'div', { class: 'ti-told' });
    sheets[s] = self;
    gridNavigation(self.map.node, {
      label: `Tiles of sheet ${s + 1}`,
      rows: () => rowsOf(s),
      cols: () => columnsOf(s),
      hover(i, event) {
        if (i < 0 || i >= shape(s)[1]) return; // the last tile stays enlarged
        active = s;
        tile = i;
        const text = drawAll();
        if (event?.type === 'keydown') say(text);
      },
    });
  }

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
    }, TILE_FRAME_MS);
  };
  slider.oninput = () => {
    stop();
    frame = Number(slider.value);
    drawAll();
  };

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const count = now.header.sheets.length;
    if (fresh) {
      stop();
      frame = now.header.frame;
      while (sheets.length < count) addSheet(sheets.length);
      active = Math.min(now.header.active, count - 1);
      tile = Math.min(tile, shape(active)[1] - 1);
    }
    const wide = now.width >= 460,
      rightWidth = wide ? Math.max(216, Math.floor((now.width - 24) * 0.29)) : now.width;
    const leftWidth = wide ? now.width - rightWidth - 25 : now.width; // 25: the root's width may be a fraction less
    left.style.width = `${leftWidth}px`;
    right.style.width = `${rightWidth}px`;
    right.wanted = rightWidth;
    const across = now.width >= 720 && count > 1 ? 2 : 1,
      column = Math.floor((leftWidth - 24 * (across - 1)) / across);
    area.style.gridTemplateColumns = `repeat(${across}, ${column}px)`;
    sheets.forEach((sheet, s) => {
      sheet.box.style.display = s < count ? '' : 'none';
      if (s < count)
        sheet.side = Math.max(8, Math.min(72, Math.floor((column - GUT * (columnsOf(s) - 1)) / columnsOf(s))));
    });
    play.style.display = reducedMotion() ? 'none' : '';
    drawAll();
  };
}
