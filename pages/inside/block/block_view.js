// One token's way through one block: every step a card with its formula, its numbers, its shape and its values.
// A line on the left is the residual stream; what is set off from it is a branch.

import { el, live, tooltip } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, accentLut, headColor } from '../../views/kit/ramp.js';

export default function blockView({ root, trigger }) {
  const flow = el(root, 'ol', { class: 'bl' }),
    tip = tooltip(root),
    say = live(root);
  let now = null,
    cards = [];

  const place = (event) => {
    const box = root.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const number = (value) => {
    if (Math.abs(value) >= 0.01 || value === 0) return value.toFixed(3).replace('-', '−');
    const [digits, power] = value.toExponential(1).replaceAll('-', '−').split('e');
    return `${digits} · 10${[...power].map((c) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['−0123456789'.indexOf(c)]).join('')}`;
  };
  const nameOf = (token) => {
    const {
        prefix,
        grid: [, cols],
      } = now.header,
      patch = token - prefix.length;
    return patch < 0
      ? `[${prefix[token].toUpperCase()}]`
      : `row ${Math.floor(patch / cols) + 1}, column ${(patch % cols) + 1}`;
  };

  function strip(parent, step, part) {
    const { data, shape } = now.arrays[step.array],
      channels = shape[1],
      from = part * channels;
    const line = el(parent, 'div', { class: 'bl-strip' });
    if (step.labels[part]) el(line, 'span', { class: 'vv-mono bl-part' }, step.labels[part]);
    const node = el(line, 'canvas', { class: 'vv-pixels' });
    node.width = channels;
    node.height = 1;
    let top = 0;
    for (let i = 0; i < channels; i++) top = Math.max(top, Math.abs(data[from + i]));
    blit(node.getContext('2d'), heat(data, 1, channels, DIVERGING_LUT, -top, top, from), 0, 0, channels, 1);
    gridNavigation(node, {
      label: `${step.title} ${step.labels[part]}: ${channels} channels`,
      rows: () => 1,
      cols: () => channels,
      hover(i, event) {
        if (i < 0) return tip.hide();
        const text = `channel ${i + 1} of ${channels}: ${number(data[from + i])}`;
        if (event?.clientX !== undefined) tip.show(...place(event), text);
        else say(text);
      },
      pick: (i) => {
        if (step.stream) trigger('channel', i);
      },
    });
    el(line, 'span', { class: 'vv-muted bl-range' }, `±${number(top)}`);
    if (step.kind === 'heads') {
      const bands = el(parent, 'div', { class: 'bl-bands', 'aria-hidden': 'true' });
      for (let h = 0; h < now.header.heads; h++) el(bands, 'i').style.background = headColor(h, now.header.heads);
    }
  }

  function keys(parent, step, part) {
    const {
        grid: [rows, cols],
        prefix,
        head,
      } = now.header,
      { data, shape } = now.arrays[step.array],
      tokens = shape[1],
      from = part * tokens;
    const box = el(parent, 'div', { class: 'bl-map' });
    const frame = el(box, 'div', { class: 'bl-frame' });
    frame.style.aspectRatio = `${cols} / ${rows}`;
    const base = el(frame, 'canvas', { 'aria-hidden': 'true' }),
      cells = el(frame, 'canvas', { class: 'vv-pixels', 'aria-hidden': 'true' });
    const source = picture(now.arrays.picture);
    base.width = source.width;
    base.height = source.height;
    base.getContext('2d').drawImage(source, 0, 0);
    base.style.imageRendering = source.width < 128 ? 'pixelated' : 'auto';
    let top = 0;
    const signed = step.kind === 'scores';
    // [CLS] is written under the map: the scale of weights is the patches', or a strong prefix token would hide them.
    for (let i = signed ? 0 : prefix.length; i < tokens; i++) top = Math.max(top, Math.abs(data[from + i]));
    const image = heat(
      data,
      rows,
      cols,
      signed ? DIVERGING_LUT : accentLut(now.colors.query),
      signed ? -top : 0,
      top,
      from + prefix.length,
    );
    cells.width = cols;
    cells.height = rows;
    blit(cells.getContext('2d'), image, 0, 0, cols, rows);
    const mine = now.header.token - prefix.length;
    if (mine >= 0) {
      const mark = el(frame, 'div', { class: 'bl-mark' });
      Object.assign(mark.style, {
        left: `${(100 * (mine % cols)) / cols}%`,
        top: `${(100 * Math.floor(mine / cols)) / rows}%`,
        width: `${100 / cols}%`,
        height: `${100 / rows}%`,
      });
    }
    gridNavigation(frame, {
      label: `${step.title} ${step.labels[part]}, head ${head}`,
      rows: () => rows,
      cols: () => cols,
      hover(i, event) {
        if (i < 0) return tip.hide();
        const text = `key ${nameOf(prefix.length + i)}: ${number(data[from + prefix.length + i])}`;
        if (event?.clientX !== undefined) tip.show(...place(event), text);
        else say(text);
      },
      pick: (i) =>
        trigger('pin', `${(((i % cols) + 0.5) / cols).toFixed(4)},${((Math.floor(i / cols) + 0.5) / rows).toFixed(4)}`),
    });
    const text = prefix.map((name, i) => `[${name.toUpperCase()}] ${number(data[from + i])}`);
    el(
      box,
      'div',
      { class: 'bl-caption vv-muted' },
      [step.labels[part], `${signed ? '±' : 'up to '}${number(top)}`, ...text].filter(Boolean).join(' · '),
    );
  }

  return function update(message) {
    now = message;
    flow.replaceChildren();
    root.classList.toggle('bl-narrow', message.width < 560);
    cards = message.header.steps.map((step, i) => {
      const card = el(flow, 'li', { class: `bl-step${step.stream ? ' bl-stream' : ''}`, 'data-step': step.title });
      const head = el(card, 'div', { class: 'bl-head' });
      el(head, 'b', {}, `${i + 1}  ${step.title}`);
      el(head, 'span', { class: 'vv-mono vv-muted' }, `(${step.shape.join(', ')})`);
      const body = el(card, 'div', { class: 'bl-body' }),
        text = el(body, 'div', { class: 'bl-text' });
      const formula = el(text, 'div', { class: 'vv-mono' }),
        equations = step.formula.split(', ');
      // A line may break between two equations, not within one of several.
      if (equations.length === 1) formula.textContent = step.formula;
      else
        equations.forEach((one, j) => {
          el(formula, 'span', { class: 'bl-formula' }, j < equations.length - 1 ? `${one},` : one);
          formula.append(' ');
        });
      el(text, 'div', { class: 'vv-muted' }, step.numbers);
      const drawing = el(body, 'div', { class: 'bl-drawing' });
      const parts = now.arrays[step.array].shape[0];
      for (let part = 0; part < parts; part++)
        (step.kind === 'vector' || step.kind === 'heads' ? strip : keys)(drawing, step, part);
      if (step.kind === 'scores' || step.kind === 'keys') drawing.classList.add('bl-maps');
      return card;
    });
    root.dataset.steps = String(cards.length);
  };
}
