// One token in one block: a card per step with formula, numbers, shape and values.
// The line on the left is the residual stream; indented cards are branches.

import { CellFrame } from '../../../vitviz/browser/kit/cell_frame.js';
import { pinOf } from '../../../vitviz/browser/kit/pin.js';
import { patchName, tokenName } from '../../../vitviz/browser/kit/text.js';
import { el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { DIVERGING_LUT, accentLut, headColor } from '../../../vitviz/browser/kit/colour_ramp.js';

/** Return the label of one part of a step. */
const labelOf = (step, part) => [step.title, step.labels[part]].filter(Boolean).join(' ');

export default class BlockView {
  constructor({ root, trigger }) {
    this.root = root;
    this.trigger = trigger;
    this.flow = el(this.root, 'ol', { class: 'bl vv-grey' });
    this.tip = tooltip(this.root);
    this.announce = live(this.root);
  }

  /** Show text in a tooltip at the pointer, or announce it without one. */
  showText(text, event) {
    if (event?.clientX === undefined) return this.announce(text);
    const box = this.root.getBoundingClientRect();
    this.tip.show(event.clientX - box.left, event.clientY - box.top, text);
  }

  format(value) {
    if (Math.abs(value) >= 0.01 || value === 0) return value.toFixed(3).replace('-', '−');
    const [digits, power] = value.toExponential(1).replaceAll('-', '−').split('e');
    return `${digits} · 10${[...power].map((c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['−0123456789'.indexOf(c)]).join('')}`;
  }

  drawStrip(parent, step, part, { data, shape }) {
    const channels = shape[1];
    const from = part * channels;
    const line = el(parent, 'div', { class: 'bl-strip' });
    if (step.labels[part]) el(line, 'span', { class: 'vv-mono bl-part' }, step.labels[part]);
    const node = el(line, 'canvas', { class: 'vv-pixels' });
    const top = data.subarray(from, from + channels).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    Object.assign(node, { width: channels, height: 1 });
    node.getContext('2d').drawImage(heat(data, 1, channels, DIVERGING_LUT, -top, top, from), 0, 0);
    gridNavigation(node, {
      label: `${labelOf(step, part)}: ${channels} ${step.names.length ? 'classes' : 'channels'}`,
      grid: () => [1, channels],
      hover: (i, event) => {
        if (i < 0) return this.tip.hide();
        const name = step.names[i] ?? `channel ${i + 1} of ${channels}`;
        this.showText(`${name}: ${this.format(data[from + i])}`, event);
      },
      pick: (i) => {
        if (step.stream) this.trigger('channel', i + 1);
      },
    });
    el(line, 'span', { class: 'vv-muted bl-range' }, `±${this.format(top)}`);
    if (step.kind === 'heads') {
      const bands = el(parent, 'div', { class: 'bl-bands', 'aria-hidden': 'true' });
      for (let h = 0; h < this.message.header.heads; h++)
        el(bands, 'i').style.background = headColor(h, this.message.header.heads);
    }
  }

  drawMap(parent, step, part, { data, shape }) {
    const { grid, prefix, head, token } = this.message.header;
    const [rows, cols] = grid;
    const values = data.subarray(part * shape[1], (part + 1) * shape[1]);
    const signed = step.kind === 'scores';
    // Weights of prefix tokens are in the caption: on a scale with them, patches would be invisible.
    const top = values.subarray(signed ? 0 : prefix.length).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    const box = el(parent, 'div', { class: 'bl-map' });
    const frame = new CellFrame(box);
    frame.shape(grid);
    frame.showImage(picture(this.message.arrays.picture));
    const table = signed ? DIVERGING_LUT : accentLut(this.message.colors.query);
    frame.showCells(heat(values.subarray(prefix.length), rows, cols, table, signed ? -top : 0, top));
    frame.pin(grid, Math.max(-1, token - prefix.length));
    gridNavigation(frame.node, {
      label: `${labelOf(step, part)}, head ${head}`,
      grid: () => grid,
      hover: (i, event) => {
        if (i < 0) return this.tip.hide();
        this.showText(`key ${patchName(i, cols)}: ${this.format(values[prefix.length + i])}`, event);
      },
      pick: (i) => this.trigger('pin', pinOf(grid, i)),
    });
    const scale = `${signed ? '±' : 'up to '}${this.format(top)}`;
    const others = prefix.map((name, i) => `${tokenName(name)} ${this.format(values[i])}`);
    const caption = [step.labels[part], scale, ...others].filter(Boolean).join(' · ');
    el(box, 'div', { class: 'bl-caption vv-muted' }, caption);
  }

  /** Add a card's title; its meaning is shown under the pointer and read at focus. */
  addTitle(head, title, meaning) {
    const node = el(head, 'b', {}, title);
    if (!meaning) return;
    Object.assign(node, { className: 'bl-meaning', tabIndex: 0, ariaDescription: meaning });
    node.onpointermove = node.onpointerdown = (event) => this.showText(meaning, event);
    node.onpointerleave = () => this.tip.hide();
  }

  update(message) {
    this.message = message;
    this.flow.replaceChildren();
    this.root.classList.toggle('bl-narrow', message.width < 560);
    message.header.steps.forEach((step, i) => {
      const card = el(this.flow, 'li', { class: `bl-step${step.stream ? ' bl-stream' : ''}`, 'data-step': step.title });
      const isMap = step.kind === 'scores' || step.kind === 'keys';
      card.classList.toggle('bl-half', isMap);
      const body = el(card, 'div', { class: 'bl-body' });
      const text = el(body, 'div');
      const head = el(isMap ? card : text, 'div', { class: 'bl-head' });
      body.before(...card.querySelectorAll(':scope > .bl-head'));
      this.addTitle(head, `${i + 1}  ${step.title}`, step.meaning);
      el(head, 'span', { class: 'vv-mono vv-muted' }, `(${step.shape.join(', ')})`);
      const formula = el(text, 'div', { class: 'vv-mono' });
      const equations = step.formula.split(', ');
      // Lines may break between equations, not within one.
      if (equations.length === 1) formula.textContent = step.formula;
      else
        equations.forEach((equation, j) => {
          el(formula, 'span', { class: 'bl-formula' }, j < equations.length - 1 ? `${equation},` : equation);
          formula.append(' ');
        });
      el(text, 'div', { class: 'vv-muted' }, step.numbers.replaceAll('-', '−'));
      const drawing = el(body, 'div', { class: 'bl-drawing' });
      const values = this.message.arrays[`s${i}`];
      for (let part = 0; part < values.shape[0]; part++)
        if (step.kind === 'vector' || step.kind === 'heads') this.drawStrip(drawing, step, part, values);
        else this.drawMap(drawing, step, part, values);
      drawing.classList.toggle('bl-maps', isMap);
    });
    this.root.dataset.steps = String(message.header.steps.length);
  }
}
