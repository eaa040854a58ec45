// z0 = [x_class; x1 E; ...; xN E] + E_pos: three heat maps on one scale, one row per token, one column per value.
// header: {patch, cols, prefix, scale, added, pin}; arrays: shown (S, S, 3) uint8, content (T, D), positions (T, D)

import { fill, frame } from '../../../vitviz/browser/kit/axes.js';
import { button, canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { evenCell, gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, legend } from '../../../vitviz/browser/kit/colour_ramp.js';
import { patchName, signed, tokenName } from '../../../vitviz/browser/kit/text.js';

export default class PatchesSequence {
  constructor({ root }) {
    this.root = root;
    this.hover = -1;
    this.sum = null;
    this.tops = [];
    this.maps = [];
    this.box = { width: 0, height: 0 };
    this.buildParts();
    this.buildFoot();
    this.listen();
  }

  buildParts() {
    this.pair = el(this.root, 'div', { class: 'pt-pair' });
    this.parts = [];
    for (const label of ['Tokens', 'Position embeddings', 'Sum']) {
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
    this.scale = canvas(this.below, { role: 'img' });
    const toggle = () => {
      this.separate.setAttribute('aria-pressed', String(!this.isSeparate()));
      this.paint();
      this.draw();
      this.drawScale();
    };
    this.separate = button(this.below, 'Scale each map separately', toggle, { 'aria-pressed': 'false' });
    this.note = el(this.root, 'div', { class: 'pt-note', 'data-role': 'sequence' });
    this.say = live(this.root);
  }

  listen() {
    this.parts.forEach((part, i) =>
      gridNavigation(part.view.node, {
        label: part.label,
        grid: () => [this.tokens, this.dim],
        cellAt: (x, y) => {
          const left = i ? 0 : 24;
          const box = { width: this.box.width - left, height: this.box.height };
          return evenCell(Math.max(x, left) - left, y, box, this.tokens, this.dim);
        },
        start: () => this.message.header.pin * this.dim,
        hover: (index) => {
          this.hover = index;
          this.draw();
        },
      }),
    );
  }

  isSeparate() {
    return this.separate.getAttribute('aria-pressed') === 'true';
  }

  paint() {
    this.maps = this.terms().map((values, i) => {
      const top = this.isSeparate() ? this.tops[i] : this.message.header.scale;
      return heat(values, this.tokens, this.dim, DIVERGING_LUT, -top, top);
    });
  }

  terms() {
    return [this.message.arrays.content.data, this.message.arrays.positions.data, this.sum];
  }

  draw() {
    const token = this.hover < 0 ? -1 : Math.floor(this.hover / this.dim);
    const value = this.hover % this.dim;
    this.parts.forEach((part, i) => {
      const ctx = part.view.size(this.box.width, this.box.height);
      const left = i ? 0 : 24;
      const width = this.box.width - left;
      blit(ctx, this.maps[i], left, 0, width, this.box.height, this.dim > 2 * width);
      const step = this.box.height / this.tokens;
      if (!i) this.drawPatches(ctx, step, token);
      if (token < 0) return;
      const cell = width / this.dim;
      const [top, tall] = [token * step - 1, Math.max(3, step) + 1];
      frame(ctx, left, top, width, tall);
      frame(ctx, left + value * cell - 1, top, Math.max(3, cell) + 1, tall);
    });
    if (token < 0) {
      this.note.textContent = `Rows: ${this.tokens} tokens; columns: D = ${this.dim} values. Point at a value to see its sum.`;
      return;
    }
    const { cols, prefix } = this.message.header;
    const name = token < prefix.length ? tokenName(prefix[token]) : patchName(token - prefix.length, cols);
    const at = token * this.dim + value;
    const a = this.message.arrays.content.data[at];
    const b = this.message.arrays.positions.data[at];
    this.note.textContent =
      `z₀[${token}, ${value}], token ${token}: ${name}, value ${value + 1} of ${this.dim}: ` +
      `${signed(a, 3)} ${b < 0 ? '−' : '+'} ${signed(Math.abs(b), 3)} = ${signed(this.sum[at], 3)}`;
    this.say(this.note.textContent);
  }

  drawPatches(ctx, step, active) {
    // Each row of tokens starts with the patch that it was computed from.
    const { patch: P, cols, prefix } = this.message.header;
    for (let t = 0; t < this.tokens; t++) {
      const patch = t - prefix.length;
      ctx.imageSmoothingEnabled = true;
      if (patch < 0) fill(ctx, this.message.colors.muted, 0, t * step, 20, step);
      else ctx.drawImage(this.image, (patch % cols) * P, Math.floor(patch / cols) * P, P, P, 0, t * step, 20, step);
      if (t === active) frame(ctx, 1, t * step - 1, 18, Math.max(3, step) + 1);
    }
  }

  drawScale() {
    const { scale: top } = this.message.header;
    const separate = this.isSeparate();
    legend(this.scale, {
      table: DIVERGING_LUT,
      width: Math.min(240, this.message.width),
      words: separate ? ['− maximum', '0', '+ maximum'] : [`≤ ${signed(-top, 3)}`, '0', `≥ ${signed(top, 3)}`],
      colors: this.message.colors,
      label: `Colour scale${separate ? ' of each map, from minus to plus its maximum' : ` from ${signed(-top, 3)} to ${signed(top, 3)}`}`,
    });
  }

  update(message, fresh) {
    this.message = message;
    const { header, arrays } = this.message;
    [this.tokens, this.dim] = arrays.content.shape;
    const T = this.tokens;
    const D = this.dim;
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
    const parts = first.length ? `(${first.length} + ${T - first.length}) × ${D}` : shape;
    this.parts[0].name.textContent = `[${[...list, 'x¹E', '…', `xᴺE`].join('; ')}]`;
    this.parts[1].name.textContent = header.added ? '+ E_pos' : '+ no position embedding';
    this.parts[2].name.textContent = '= z₀';
    this.parts.forEach((part, i) => {
      part.shape.textContent = `${i ? shape : parts}, values up to ±${signed(this.tops[i], 3)}`;
    });
    this.box.width = Math.floor(this.message.width >= 640 ? (this.message.width - 49) / 3 : this.message.width);
    this.box.height = this.message.width >= 640 ? Math.max(200, Math.min(480, T * 7)) : 200;
    this.draw();
    this.drawScale();
  }
}
