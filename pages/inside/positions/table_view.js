// A table of positions: rows are positions, columns are dimensions. The hovered cell's formula, with its numbers, stands
// beside it; below, its column as a wave over the positions; above, the wavelength of every column.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

const AXIS = 34,
  STRIP = 68,
  WAVE = 96;

function number(value, digits = 3) {
  if (value === 0) return '0';
  const size = Math.abs(value),
    sign = value < 0 ? '−' : '';
  return (
    sign +
    (size >= 1e5 || size < 1e-3
      ? size.toExponential(1)
      : Number(size.toPrecision(size >= 1000 ? 5 : digits + (size >= 100 ? 1 : 0))).toString())
  );
}

export default function tableView({ root }) {
  const stage = el(root, 'div', { class: 'pt-stage' });
  const left = el(stage, 'div'),
    right = el(stage, 'div');
  const stripLabel = el(left, 'div', { class: 'pt-label' });
  const strip = canvas(left, { role: 'img' });
  const map = canvas(left, { class: 'pt-map' });
  const scale = canvas(left, { role: 'img' });
  const head = el(right, 'div', { class: 'pt-head' });
  const formula = el(right, 'div', { class: 'pt-formula' });
  const waveLabel = el(right, 'div', { class: 'pt-label' });
  const wave = canvas(right, { role: 'img' });
  const row = el(right, 'div', { class: 'pt-photo' });
  const photo = canvas(row, { role: 'img' });
  const photoNote = el(row, 'div', { class: 'pt-label' });
  const say = live(root);
  let now = null,
    image = null,
    seen = null,
    cell = null;

  const N = () => now.arrays.values.shape[0],
    D = () => now.arrays.values.shape[1];
  const exponent = (k) => now.arrays.exponents.data[k];
  const waves = () => now.arrays.exponents.data.some((e) => e >= 0);
  const value = (p, k) => now.arrays.values.data[p * D() + k];
  const place = (p) => [Math.floor(p / now.header.grid[1]), p % now.header.grid[1]];
  const wavelength = (k) => 2 * Math.PI * now.header.base ** exponent(k);

  /** The formula of a cell: in symbols, with its numbers, and its value. */
  function formulaOf(p, k) {
    const { kind, base } = now.header,
      [r, c] = place(p),
      d = D(),
      v = number(value(p, k), 4);
    if (kind === 'none') return 'No position is added:\nevery value is 0, and the model sees a set of patches.';
    if (kind === 'random') return `PE[${p}, ${k}] = ${v}\ndrawn once from a normal distribution, never trained`;
    if (kind === 'learned') return `E_pos[${p}, ${k}] = ${v}\na weight like any other: learned by gradient descent`;
    if (kind === 'pixels')
      return `PE[${p}, ${k}] = ${v}\na second linear map of the patch's own pixels: it knows no place`;
    const f = base ** exponent(k),
      scaled = number(f, 4);
    if (kind === 'sincos_2d_concat') {
      const quarter = d / 4,
        part = Math.floor(k / quarter),
        name = part % 2 ? 'cos' : 'sin',
        axis = part < 2 ? 'column' : 'row',
        at = part < 2 ? c : r;
      return `${name}(${axis} / ${base}^(j/(D/4 − 1))),  j = ${k % quarter}\n= ${name}(${at} / ${base}^(${k % quarter}/${quarter - 1}))\n= ${name}(${at} / ${scaled}) = ${name}(${number(at / f, 4)})\n= ${v}`;
    }
    const name = k % 2 ? 'cos' : 'sin',
      top = kind === 'slip' ? k : k - (k % 2);
    const power = `${base}^(${kind === 'slip' ? 'k' : '2i'}/D)`;
    if (kind === 'sincos_2d_sum') {
      const fn = k % 2 ? Math.cos : Math.sin;
      return `${name}(row / ${power}) + ${name}(column / ${power})\n= ${name}(${r} / ${base}^(${top}/${d})) + ${name}(${c} / ${base}^(${top}/${d}))\n= ${name}(${number(r / f, 4)}) + ${name}(${number(c / f, 4)})\n= ${number(fn(r / f), 4)} + ${number(fn(c / f), 4)} = ${v}`;
    }
    return `${name}(p / ${power})\n= ${name}(${p} / ${base}^(${top}/${d}))\n= ${name}(${p} / ${scaled}) = ${name}(${number(p / f, 4)})\n= ${v}`;
  }

  function drawMap() {
    const { colors } = now,
      [p, k] = cell,
      width = map.wanted[0],
      height = map.wanted[1];
    const ctx = map.size(width, height + AXIS),
      w = (width - AXIS) / D(),
      h = height / N();
    blit(ctx, image, AXIS, 0, width - AXIS, height);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'right';
    const ticks = (count, room) => {
      const s = Math.ceil(count / Math.max(2, room / 44));
      return Array.from({ length: Math.ceil(count / s) }, (_, i) => i * s);
    };
    for (const t of ticks(N(), height)) ctx.fillText(t, AXIS - 6, (t + 0.5) * h);
    ctx.textAlign = 'center';
    ctx.textBaseline = 'top';
    for (const t of ticks(D(), width - AXIS)) ctx.fillText(t, AXIS + (t + 0.5) * w, height + 4);
    ctx.fillText('dimension k', AXIS + (width - AXIS) / 2, height + 18);
    ctx.save();
    ctx.translate(6, height / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.textBaseline = 'middle';
    ctx.fillText('position p', 0, 0);
    ctx.restore();
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(AXIS, p * h - 0.75, width - AXIS, h + 1.5);
    ctx.strokeRect(AXIS + k * w - 0.75, 0, w + 1.5, height);
    ctx.lineWidth = 3;
    ctx.strokeRect(AXIS + k * w - 2, p * h - 2, w + 4, h + 4);
  }

  function drawStrip() {
    const has = waves();
    strip.node.style.display = has ? '' : 'none';
    stripLabel.textContent = has
      ? 'Wavelength of each dimension, positions (log scale)'
      : 'Rows are positions, columns are dimensions';
    if (!has) return;
    const { colors } = now,
      width = map.wanted[0],
      ctx = strip.size(width, STRIP),
      k = cell[1],
      w = (width - AXIS) / D();
    const all = Array.from({ length: D() }, (_, i) => Math.log10(wavelength(i)));
    const low = Math.min(...all),
      high = Math.max(...all, low + 1e-6);
    const y = (v) => STRIP - 20 - ((v - low) / (high - low)) * (STRIP - 32);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    ctx.fillText(number(10 ** low, 2), AXIS - 6, STRIP - 20);
    ctx.fillText(10 ** high >= 1000 ? `${Math.round(10 ** high / 1000)}k` : number(10 ** high, 2), AXIS - 6, 12);
    ctx.fillStyle = colors.primary;
    for (let i = 0; i < D(); i++) ctx.fillRect(AXIS + i * w, y(all[i]) - 1.5, Math.max(1, w - 0.5), 3);
    ctx.fillStyle = colors.query;
    ctx.fillRect(AXIS + k * w - 1, y(all[k]) - 3, Math.max(4, w + 2), 6);
    strip.node.setAttribute('aria-label', `Wavelengths from ${number(10 ** low)} to ${number(10 ** high)} positions`);
  }

  function drawWave() {
    const { colors, header } = now,
      [p, k] = cell,
      width = right.wanted,
      ctx = wave.size(width, WAVE),
      pad = 8,
      count = N();
    const x = (i) => pad + (i / Math.max(1, count - 1)) * (width - 2 * pad),
      y = (v) => WAVE / 2 - (v / header.peak) * (WAVE / 2 - 10);
    ctx.strokeStyle = colors.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(pad, WAVE / 2);
    ctx.lineTo(width - pad, WAVE / 2);
    ctx.stroke();
    ctx.strokeStyle = colors.primary;
    ctx.lineWidth = 2;
    ctx.beginPath();
    for (let i = 0; i < count; i++) ctx[i ? 'lineTo' : 'moveTo'](x(i), y(value(i, k)));
    ctx.stroke();
    ctx.fillStyle = colors.query;
    ctx.beginPath();
    ctx.arc(x(p), y(value(p, k)), 5, 0, 7);
    ctx.fill();
    const length = exponent(k) >= 0 ? `, wavelength ${number(wavelength(k), 3)} positions` : '';
    waveLabel.textContent = `Dimension ${k} over the ${count} positions${length}`;
    wave.node.setAttribute('aria-label', waveLabel.textContent);
  }

  function drawPhoto() {
    const side = 120,
      ctx = photo.size(side, side),
      { colors } = now,
      [rows, cols] = now.header.grid,
      [p] = cell,
      [r, c] = place(p);
    ctx.globalAlpha = 0.4;
    blit(ctx, seen, 0, 0, side, side, seen.width > side);
    ctx.globalAlpha = 1;
    const w = side / cols,
      h = side / rows;
    ctx.save();
    ctx.beginPath();
    ctx.rect(c * w, r * h, w, h);
    ctx.clip();
    blit(ctx, seen, 0, 0, side, side, seen.width > side);
    ctx.restore();
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2.5;
    ctx.strokeRect(c * w + 1, r * h + 1, w - 2, h - 2);
    photoNote.textContent = `Position ${p} is the patch in row ${r}, column ${c} of the ${rows} × ${cols} grid.`;
    photo.node.setAttribute('aria-label', photoNote.textContent);
  }

  function drawAll() {
    const [p, k] = cell;
    head.textContent = `Position ${p}, dimension ${k}`;
    formula.textContent = formulaOf(p, k);
    drawMap();
    drawStrip();
    drawWave();
    drawPhoto();
  }

  gridNavigation(map.node, {
    label: 'Table of positions by dimensions',
    rows: () => N(),
    cols: () => D(),
    cellAt(x, y) {
      const k = Math.floor(((x - AXIS) / (map.wanted[0] - AXIS)) * D()),
        p = Math.floor((y / map.wanted[1]) * N());
      return k >= 0 && p >= 0 && k < D() && p < N() ? p * D() + k : -1;
    },
    hover(i, event) {
      if (i < 0) return; // the last cell stays: its formula is what one reads
      cell = [Math.floor(i / D()), i % D()];
      drawAll();
      if (event?.type === 'keydown') say(`Position ${cell[0]}, dimension ${cell[1]}: ${formula.textContent}`);
    },
  });

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    if (fresh) {
      const { header, arrays } = now;
      image = heat(arrays.values.data, N(), D(), DIVERGING_LUT, -header.peak, header.peak);
      seen = picture(arrays.shown);
      cell = [Math.min(header.position, N() - 1), Math.min(cell?.[1] ?? 2, D() - 1)];
    }
    const wide = now.width >= 720,
      rightWidth = wide ? Math.floor((now.width - 24) / 3) : now.width;
    const width = wide ? now.width - rightWidth - 25 : now.width; // 25: the root's width may be a fraction less
    const height = Math.round(Math.min(392, Math.max(160, (N() * (width - AXIS)) / D())));
    map.wanted = [width, height];
    left.style.width = `${width}px`;
    right.style.width = `${rightWidth}px`;
    right.wanted = rightWidth;
    const ctx = scale.size(Math.min(320, width), 34),
      { peak } = now.header,
      { colors } = now;
    blit(
      ctx,
      heat(
        Float32Array.from({ length: 256 }, (_, i) => i),
        1,
        256,
        DIVERGING_LUT,
        0,
        255,
      ),
      AXIS,
      0,
      scale.width - AXIS,
      10,
      true,
    );
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'top';
    for (const [t, x, a] of [
      [`−${number(peak, 2)}`, AXIS, 'left'],
      ['0', AXIS + (scale.width - AXIS) / 2, 'center'],
      [number(peak, 2), scale.width, 'right'],
    ]) {
      ctx.textAlign = a;
      ctx.fillText(t, x, 15);
    }
    scale.node.setAttribute('aria-label', `Colour scale from −${number(peak)} to ${number(peak)}, white at zero`);
    drawAll();
  };
}
