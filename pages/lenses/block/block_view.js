// One token's way through one block: every step a card with its formula, its numbers, its shape and its values.
// A line on the left is the residual stream; what is set off from it is a branch.

import { cover } from '../../views/kit/pixels.js';
import { mark, pinOf } from '../../views/kit/place.js';
import { tokenName } from '../../views/kit/words.js';
import { el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, accentLut, headColor } from '../../views/kit/ramp.js';

/** A part of a step, as it is called. */
const titled = (step, part) => [step.title, step.labels[part]].filter(Boolean).join(' ');

class BlockView {
  constructor({ root, trigger }) {
    this.root = root;
    this.trigger = trigger;
    this.flow = el(this.root, 'ol', { class: 'bl' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    this.now = null;
    this.cards = [];
  }

  place(event) {
    const box = this.root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  number(value) {
    if (Math.abs(value) >= 0.01 || value === 0) return value.toFixed(3).replace('-', '−');
    const [digits, power] = value.toExponential(1).replaceAll('-', '−').split('e');
    return `${digits} · 10${[...power].map((c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['−0123456789'.indexOf(c)]).join('')}`;
  }

  nameOf(token) {
    const {
      prefix,
      grid: [, cols],
    } = this.now.header;
    const patch = token - prefix.length;
    return patch < 0
      ? `[${prefix[token].toUpperCase()}]`
      : `row ${Math.floor(patch / cols) + 1}, column ${(patch % cols) + 1}`;
  }

  strip(parent, step, part) {
    const { data, shape } = this.now.arrays[step.array];
    const channels = shape[1];
    const from = part * channels;
    const line = el(parent, 'div', { class: 'bl-strip' });
    if (step.labels[part]) el(line, 'span', { class: 'vv-mono bl-part' }, step.labels[part]);
    const node = el(line, 'canvas', { class: 'vv-pixels' });
    node.width = channels;
    node.height = 1;
    let top = 0;
    for (let i = 0; i < channels; i++) top = Math.max(top, Math.abs(data[from + i]));
    blit(node.getContext('2d'), heat(data, 1, channels, DIVERGING_LUT, -top, top, from), 0, 0, channels, 1);
    gridNavigation(node, {
      label: `${titled(step, part)}: ${channels} ${step.names.length ? 'classes' : 'channels'}`,
      rows: () => 1,
      cols: () => channels,
      hover: (i, event) => {
        if (i < 0) return this.tip.hide();
        const named = step.names[i] ?? `channel ${i + 1} of ${channels}`;
        const text = `${named}: ${this.number(data[from + i])}`;
        if (event?.clientX !== undefined) this.tip.show(...this.place(event), text);
        else this.say(text);
      },
      pick: (i) => {
        if (step.stream) this.trigger('channel', i);
      },
    });
    el(line, 'span', { class: 'vv-muted bl-range' }, `±${this.number(top)}`);
    if (step.kind === 'heads') {
      const bands = el(parent, 'div', { class: 'bl-bands', 'aria-hidden': 'true' });
      for (let h = 0; h < this.now.header.heads; h++)
        el(bands, 'i').style.background = headColor(h, this.now.header.heads);
    }
  }

  keys(parent, step, part) {
    const { grid, prefix, head, token } = this.now.header;
    const [rows, cols] = grid;
    const { data, shape } = this.now.arrays[step.array];
    const values = data.subarray(part * shape[1], (part + 1) * shape[1]);
    const signed = step.kind === 'scores';
    // [CLS] is written under the map: the scale of weights is the patches', or a strong prefix token would hide them.
    const top = values.subarray(signed ? 0 : prefix.length).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    const box = el(parent, 'div', { class: 'bl-map' });
    const frame = el(box, 'div', { class: 'bl-frame' });
    frame.style.aspectRatio = `${cols} / ${rows}`;
    this.drawKeys(frame, values.subarray(prefix.length), signed, top);
    if (token >= prefix.length) mark(el(frame, 'div', { class: 'bl-mark' }), grid, token - prefix.length);
    gridNavigation(frame, {
      label: `${titled(step, part)}, head ${head}`,
      rows: () => rows,
      cols: () => cols,
      hover: (i, event) => {
        if (i < 0) return this.tip.hide();
        const text = `key ${this.nameOf(prefix.length + i)}: ${this.number(values[prefix.length + i])}`;
        if (event?.clientX !== undefined) this.tip.show(...this.place(event), text);
        else this.say(text);
      },
      pick: (i) => this.trigger('pin', pinOf(grid, i)),
    });
    const scale = `${signed ? '±' : 'up to '}${this.number(top)}`;
    const others = prefix.map((name, i) => `${tokenName(name)} ${this.number(values[i])}`);
    const caption = [step.labels[part], scale, ...others].filter(Boolean).join(' · ');
    el(box, 'div', { class: 'bl-caption vv-muted' }, caption);
  }

  /** The patches' values over the picture. */
  drawKeys(frame, values, signed, top) {
    const [rows, cols] = this.now.header.grid;
    cover(el(frame, 'canvas', { 'aria-hidden': 'true' }), picture(this.now.arrays.picture));
    const cells = el(frame, 'canvas', { class: 'vv-pixels', 'aria-hidden': 'true' });
    const table = signed ? DIVERGING_LUT : accentLut(this.now.colors.query);
    cells.width = cols;
    cells.height = rows;
    blit(cells.getContext('2d'), heat(values, rows, cols, table, signed ? -top : 0, top), 0, 0, cols, rows);
  }

  update(message) {
    this.now = message;
    this.flow.replaceChildren();
    this.root.classList.toggle('bl-narrow', message.width < 560);
    this.cards = message.header.steps.map((step, i) => {
      const card = el(this.flow, 'li', { class: `bl-step${step.stream ? ' bl-stream' : ''}`, 'data-step': step.title });
      const head = el(card, 'div', { class: 'bl-head' });
      el(head, 'b', {}, `${i + 1}  ${step.title}`);
      el(head, 'span', { class: 'vv-mono vv-muted' }, `(${step.shape.join(', ')})`);
      const body = el(card, 'div', { class: 'bl-body' });
      const text = el(body, 'div', { class: 'bl-text' });
      if (step.meaning) el(text, 'div', { class: 'bl-meaning' }, step.meaning);
      const formula = el(text, 'div', { class: 'vv-mono' });
      const equations = step.formula.split(', ');
      // A line may break between two equations, not within one of several.
      if (equations.length === 1) formula.textContent = step.formula;
      else
        equations.forEach((one, j) => {
          el(formula, 'span', { class: 'bl-formula' }, j < equations.length - 1 ? `${one},` : one);
          formula.append(' ');
        });
      el(text, 'div', { class: 'vv-muted' }, step.numbers);
      const drawing = el(body, 'div', { class: 'bl-drawing' });
      const parts = this.now.arrays[step.array].shape[0];
      for (let part = 0; part < parts; part++)
        (step.kind === 'vector' || step.kind === 'heads'
          ? (parent, step, part) => this.strip(parent, step, part)
          : (parent, step, part) => this.keys(parent, step, part))(drawing, step, part);
      if (step.kind === 'scores' || step.kind === 'keys') drawing.classList.add('bl-maps');
      return card;
    });
    this.root.dataset.steps = String(this.cards.length);
  }
}

export default function blockView(context) {
  const view = new BlockView(context);
  return (message) => view.update(message);
}
