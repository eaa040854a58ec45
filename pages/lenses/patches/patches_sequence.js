// z0 = [x_class; x1 E; ...; xN E] + E_pos: three heat maps of one scale, a row per token, a column per value.
// header: {patch, cols, prefix, scale, added, pin}; arrays: shown (S, S, 3) uint8, content (T, D), positions (T, D)

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT } from '../../views/kit/ramp.js';

class PatchesSequence {
  constructor({ root }) {
    this.root = root;
    this.now = null;
    this.hover = -1;
    this.sum = null;
    this.tops = [];
    this.maps = [];
    this.image = null;
    this.box = { width: 0, height: 0 };
    this.buildParts();
    this.buildFoot();
    this.listen();
  }

  buildParts() {
    this.pair = el(this.root, 'div', { class: 'pt-pair' });
    this.parts = [];
    for (const label of ['Tokens', 'Positions', 'Sum']) {
      const figure = el(this.pair, 'figure');
      const head = el(figure, 'figcaption');
      this.parts.push({
        name: el(head, 'div', { class: 'pt-strong' }),
        shape: el(head, 'div', { class: 'vv-muted' }),
        view: canvas(figure),
        label,
      });
    }
  }

  buildFoot() {
    this.below = el(this.root, 'div', { class: 'vv-row pt-below' });
    this.scale = canvas(this.below, { 'aria-hidden': 'true' });
    this.own = el(this.below, 'button', { type: 'button', 'aria-pressed': 'false' }, 'Each its own scale');
    this.own.onclick = () => {
      this.own.setAttribute('aria-pressed', String(this.own.getAttribute('aria-pressed') === 'false'));
      this.paint();
      this.draw();
      this.drawScale();
    };
    this.note = el(this.root, 'div', { class: 'pt-note', 'data-role': 'sequence' });
    this.say = live(this.root);
  }

  listen() {
    this.parts.forEach((part, i) =>
      gridNavigation(part.view.node, {
        label: part.label,
        rows: () => this.tokens(),
        cols: () => this.dim(),
        pick: () => {},
        cellAt: (x, y) => {
          const left = i ? 0 : 24;
          const col = Math.floor(((Math.max(x, left) - left) / (this.box.width - left)) * this.dim());
          const row = Math.floor((y / this.box.height) * this.tokens());
          return col >= 0 && row >= 0 && col < this.dim() && row < this.tokens() ? row * this.dim() + col : -1;
        },
        start: () => this.now.header.pin * this.dim(),
        hover: (index) => {
          this.hover = index;
          this.draw();
        },
      }),
    );
  }

  number(v) {
    return v.toFixed(3).replace('-', '−');
  }

  tokens() {
    return this.now.arrays.content.shape[0];
  }

  dim() {
    return this.now.arrays.content.shape[1];
  }

  signed(v) {
    return v < 0 ? `− ${this.number(-v)}` : `+ ${this.number(v)}`;
  }

  apart() {
    return this.own.getAttribute('aria-pressed') === 'true';
  }

  paint() {
    this.maps = this.terms().map((values, i) => {
      const top = this.apart() ? this.tops[i] : this.now.header.scale;
      return heat(values, this.tokens(), this.dim(), DIVERGING_LUT, -top, top);
    });
  }

  terms() {
    return [this.now.arrays.content.data, this.now.arrays.positions.data, this.sum];
  }

  describe(token) {
    const patch = token - this.now.header.prefix.length;
    const { cols } = this.now.header;
    return patch < 0
      ? `[${this.now.header.prefix[token].toUpperCase()}]`
      : `patch ${patch + 1} (row ${Math.floor(patch / cols) + 1}, column ${(patch % cols) + 1})`;
  }

  draw() {
    const token = this.hover < 0 ? -1 : Math.floor(this.hover / this.dim());
    const value = this.hover % this.dim();
    this.parts.forEach((part, i) => {
      const ctx = part.view.size(this.box.width, this.box.height);
      const left = i ? 0 : 24;
      blit(
        ctx,
        this.maps[i],
        left,
        0,
        this.box.width - left,
        this.box.height,
        this.dim() > 2 * (this.box.width - left),
      );
      const step = this.box.height / this.tokens();
      if (!i) this.rail(ctx, step, token);
      if (token < 0) return;
      ctx.strokeStyle = this.now.colors.query;
      ctx.lineWidth = 2;
      ctx.strokeRect(left, token * step - 1, this.box.width - left, Math.max(3, step) + 1);
      const cell = (this.box.width - left) / this.dim();
      ctx.strokeRect(left + value * cell - 1, token * step - 1, Math.max(3, cell) + 1, Math.max(3, step) + 1);
    });
    if (token < 0) {
      this.note.textContent = `Rows are the ${this.tokens()} tokens of the sequence, columns the D = ${this.dim()} values. Point at a value to read its sum.`;
      return;
    }
    const at = token * this.dim() + value;
    const a = this.now.arrays.content.data[at];
    const b = this.now.arrays.positions.data[at];
    this.note.textContent =
      `z₀[${token}, ${value}], token ${token}: ${this.describe(token)}, value ${value + 1} of ${this.dim()}: ` +
      `${this.number(a)} ${this.signed(b)} = ${this.number(this.sum[at])}`;
    this.say(this.note.textContent);
  }

  rail(ctx, step, lit) {
    // the picture's own patches beside the rows that they became
    const { patch: P, cols, prefix } = this.now.header;
    for (let t = 0; t < this.tokens(); t++) {
      const patch = t - prefix.length;
      ctx.imageSmoothingEnabled = true;
      if (patch < 0) {
        ctx.fillStyle = this.now.colors.muted;
        ctx.fillRect(0, t * step, 20, step);
      } else ctx.drawImage(this.image, (patch % cols) * P, Math.floor(patch / cols) * P, P, P, 0, t * step, 20, step);
      if (t === lit) {
        ctx.strokeStyle = this.now.colors.query;
        ctx.lineWidth = 2;
        ctx.strokeRect(1, t * step - 1, 18, Math.max(3, step) + 1);
      }
    }
  }

  drawScale() {
    const width = Math.min(240, this.now.width);
    const ctx = this.scale.size(width, 36);
    const { scale: top } = this.now.header;
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
    ctx.fillStyle = this.now.colors.muted;
    ctx.font = `13px ${this.now.colors.font}`;
    ctx.textBaseline = 'top';
    const ends = this.apart() ? ['− its largest', '0', '+ its largest'] : [this.number(-top), '0', this.number(top)];
    ['left', 'center', 'right'].forEach((align, i) => {
      ctx.textAlign = align;
      ctx.fillText(ends[i], (i * width) / 2, 18);
    });
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const { header, arrays } = this.now;
    const T = this.tokens();
    const D = this.dim();
    if (fresh) {
      this.hover = -1;
      this.sum = arrays.content.data.map((v, i) => v + arrays.positions.data[i]);
      this.tops = this.terms().map((values) => values.reduce((m, v) => Math.max(m, Math.abs(v)), 0));
      this.image = picture(arrays.shown);
      this.paint();
    }
    const first = header.prefix.map((name) => (name === 'cls' ? 'x_class' : `x_${name}`));
    const list = first.length < 3 ? first : [first[0], '…', first[first.length - 1]];
    const shape = `${T} × ${D}`;
    const N = T - header.prefix.length;
    const extra = first.length ? ` = (${first.length} + ${N}) × ${D}` : '';
    this.parts[0].name.textContent = `[${[...list, 'x¹E', '…', `xᴺE`].join('; ')}]`;
    this.parts[1].name.textContent = header.added ? '+ E_pos' : '+ nothing: no positions';
    this.parts[2].name.textContent = '= z₀';
    this.parts.forEach((part, i) => {
      part.shape.textContent = `${shape}${i ? '' : extra}, within ±${this.number(this.tops[i])}`;
    });
    this.box.width = Math.floor(this.now.width >= 640 ? (this.now.width - 49) / 3 : this.now.width);
    this.box.height = this.now.width >= 640 ? Math.max(200, Math.min(400, T * 6)) : 200;
    this.draw();
    this.drawScale();
  }
}

export default function patchesSequence(context) {
  const view = new PatchesSequence(context);
  return (message) => view.update(message);
}
