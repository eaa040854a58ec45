// z0 = [x_class; x1 E; ...; xN E] + E_pos: three heat maps of one scale, a row per token, a column per value.
// header: {patch, cols, prefix, scale, added}; arrays: shown (S, S, 3) uint8, content (T, D), positions (T, D)

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

export default function patchesSequence({ root }) {
  let now = null,
    hover = -1,
    sum = null,
    tops = [],
    maps = [],
    image = null,
    box = { width: 0, height: 0 };
  const pair = el(root, 'div', { class: 'pt-pair' }),
    parts = [];
  for (const label of ['Tokens', 'Positions', 'Sum']) {
    const figure = el(pair, 'figure'),
      head = el(figure, 'figcaption');
    parts.push({
      name: el(head, 'div', { class: 'pt-strong' }),
      shape: el(head, 'div', { class: 'vv-muted' }),
      view: canvas(figure),
      label,
    });
  }
  const below = el(root, 'div', { class: 'vv-row pt-below' }),
    scale = canvas(below, { 'aria-hidden': 'true' });
  const own = el(below, 'button', { type: 'button', 'aria-pressed': 'false' }, 'Each its own scale');
  own.onclick = () => {
    own.setAttribute('aria-pressed', String(own.getAttribute('aria-pressed') === 'false'));
    paint();
    draw();
    drawScale();
  };
  const note = el(root, 'div', { class: 'pt-note', 'data-role': 'sequence' }),
    say = live(root);
  const number = (v) => v.toFixed(3).replace('-', '−');
  const tokens = () => now.arrays.content.shape[0],
    dim = () => now.arrays.content.shape[1];
  const signed = (v) => (v < 0 ? `− ${number(-v)}` : `+ ${number(v)}`);

  const apart = () => own.getAttribute('aria-pressed') === 'true';

  function paint() {
    maps = terms().map((values, i) => {
      const top = apart() ? tops[i] : now.header.scale;
      return heat(values, tokens(), dim(), DIVERGING_LUT, -top, top);
    });
  }
  const terms = () => [now.arrays.content.data, now.arrays.positions.data, sum];
  function describe(token) {
    const patch = token - now.header.prefix.length,
      { cols } = now.header;
    return patch < 0
      ? `[${now.header.prefix[token].toUpperCase()}]`
      : `patch ${patch + 1} (row ${Math.floor(patch / cols) + 1}, column ${(patch % cols) + 1})`;
  }
  function draw() {
    const token = hover < 0 ? -1 : Math.floor(hover / dim()),
      value = hover % dim();
    parts.forEach((part, i) => {
      const ctx = part.view.size(box.width, box.height),
        left = i ? 0 : 24;
      blit(ctx, maps[i], left, 0, box.width - left, box.height, dim() > 2 * (box.width - left));
      const step = box.height / tokens();
      if (!i) rail(ctx, step, token);
      if (token < 0) return;
      ctx.strokeStyle = now.colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(left, token * step - 1, box.width - left, Math.max(3, step) + 1);
      const cell = (box.width - left) / dim();
      ctx.strokeRect(left + value * cell - 1, token * step - 1, Math.max(3, cell) + 1, Math.max(3, step) + 1);
    });
    if (token < 0) {
      note.textContent = `Rows are the ${tokens()} tokens of the sequence, columns the D = ${dim()} values. Point at a value to read its sum.`;
      return;
    }
    const at = token * dim() + value,
      a = now.arrays.content.data[at],
      b = now.arrays.positions.data[at];
    note.textContent =
      `z₀[${token}, ${value}], token ${token}: ${describe(token)}, value ${value + 1} of ${dim()}: ` +
      `${number(a)} ${signed(b)} = ${number(sum[at])}`;
    say(note.textContent);
  }
  function rail(ctx, step, lit) {
    // the picture's own patches beside the rows that they became
    const { patch: P, cols, prefix } = now.header;
    for (let t = 0; t < tokens(); t++) {
      const patch = t - prefix.length;
      ctx.imageSmoothingEnabled = true;
      if (patch < 0) {
        ctx.fillStyle = now.colors.muted;
        ctx.fillRect(0, t * step, 20, step);
      } else ctx.drawImage(image, (patch % cols) * P, Math.floor(patch / cols) * P, P, P, 0, t * step, 20, step);
      if (t === lit) {
        ctx.strokeStyle = now.colors.query;
        ctx.lineWidth = 2;
        ctx.strokeRect(1, t * step - 1, 18, Math.max(3, step) + 1);
      }
    }
  }
  function drawScale() {
    const width = Math.min(240, now.width),
      ctx = scale.size(width, 36),
      { scale: top } = now.header;
    blit(
      ctx,
      heat(
        Float32Array.from({ length: 256 }, (_, i) => i / 127.5 - 1),
        1,
        256,
        DIVERGING_LUT,
        -1,
        1,
      ),
      0,
      4,
      width,
      8,
    );
    ctx.fillStyle = now.colors.muted;
    ctx.font = `13px ${now.colors.font}`;
    ctx.textBaseline = 'top';
    const ends = apart() ? ['− its largest', '0', '+ its largest'] : [number(-top), '0', number(top)];
    ['left', 'center', 'right'].forEach((align, i) => {
      ctx.textAlign = align;
      ctx.fillText(ends[i], (i * width) / 2, 18);
    });
  }
  parts.forEach((part, i) =>
    gridNavigation(part.view.node, {
      label: part.label,
      rows: tokens,
      cols: dim,
      pick: () => {},
      cellAt(x, y) {
        const left = i ? 0 : 24,
          col = Math.floor(((Math.max(x, left) - left) / (box.width - left)) * dim());
        const row = Math.floor((y / box.height) * tokens());
        return col >= 0 && row >= 0 && col < dim() && row < tokens() ? row * dim() + col : -1;
      },
      hover(index) {
        hover = index;
        draw();
      },
    }),
  );
  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const { header, arrays } = now,
      T = tokens(),
      D = dim();
    if (fresh) {
      hover = -1;
      sum = arrays.content.data.map((v, i) => v + arrays.positions.data[i]);
      tops = terms().map((values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0));
      image = picture(arrays.shown);
      paint();
    }
    const first = header.prefix.map((name) => (name === 'cls' ? 'x_class' : `x_${name}`));
    const list = first.length < 3 ? first : [first[0], '…', first[first.length - 1]];
    const shape = `${T} × ${D}`,
      N = T - header.prefix.length,
      extra = first.length ? ` = (${first.length} + ${N}) × ${D}` : '';
    parts[0].name.textContent = `[${[...list, 'x¹E', '…', `xᴺE`].join('; ')}]`;
    parts[1].name.textContent = header.added ? '+ E_pos' : '+ nothing: no positions';
    parts[2].name.textContent = '= z₀';
    parts.forEach((part, i) => {
      part.shape.textContent = `${shape}${i ? '' : extra}, within ±${number(tops[i])}`;
    });
    box.width = Math.floor(now.width >= 720 ? (now.width - 48) / 3 : now.width);
    box.height = now.width >= 720 ? Math.max(200, Math.min(400, T * 6)) : 200;
    draw();
    drawScale();
  };
}
