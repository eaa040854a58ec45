// The token grids of all stages on the image, and the arithmetic of one patch merging.
// header: {pin: [x, y], stages: [{rows, cols, dim, px, blocks, heads}], merge: {stage, four: [[row, col]...], token: [row, col]} | null}
// arrays: shown (S, S, 3) uint8; four (4, C), normed (4C), merged (2C) float32

import { fill, frame, lattice } from '../../../vitviz/browser/kit/axes.js';
import { cellAt, centreOf } from '../../../vitviz/browser/kit/pin.js';
import { canvas, el, live, setCount, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { PALETTE, DIVERGING_LUT, greatest } from '../../../vitviz/browser/kit/colour_ramp.js';
import { blit, heat, picture } from '../../../vitviz/browser/kit/pixels.js';
import { plural } from '../../../vitviz/browser/kit/text.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';

const QUAD = [0, 1, 2, 3];
const QUAD_COLORS = PALETTE.HEADS.slice(0, 4);
const LEAST = 136;

export default class SwinPyramid {
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, now: null, image: null, hover: null });
    this.grid = el(this.root, 'div', { class: 'sw-panels' });
    this.panels = [];
    this.mergeHead = el(this.root, 'div', { class: 'sw-head sw-above', 'data-role': 'merge' });
    this.strips = el(this.root, 'div', { class: 'sw-strips' });
    this.rows = [...QUAD.map((i) => this.row(`token${i}`)), this.row('joined'), this.row('normed'), this.row('merged')];
    this.note = el(this.root, 'div', { class: 'vv-muted sw-small' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
  }

  row(role) {
    const box = el(this.strips, 'div', { class: 'sw-strip' });
    return {
      box,
      label: el(box, 'div', { class: 'sw-label' }),
      map: canvas(box, { role: 'img' }),
      shape: el(box, 'div', { class: 'vv-mono vv-muted', 'data-role': role }),
    };
  }

  drawPanel(s) {
    const { stages, merge } = this.now.header;
    const stage = stages[s];
    const self = this.panels[s];
    const w = self.side;
    const h = (w * stage.rows) / stage.cols;
    const step = w / stage.cols;
    const ctx = self.map.size(w, h);
    blit(ctx, this.image, 0, 0, w, h, this.image.width > w);
    if (step >= 4) lattice(ctx, 'rgba(255,255,255,0.6)', 0.75, stage.rows, stage.cols, w, h);
    if (merge && !this.hover && s === merge.stage - 1)
      merge.four.forEach(([r, c], i) => frame(ctx, c * step, r * step, step, step, QUAD_COLORS[i]));
    else this.drawToken(ctx, s, w, h);
    self.bar.style.width = `${(w * stage.dim) / Math.max(...stages.map((one) => one.dim))}px`;
  }

  /** Frame the token under the pointer, at the coarsest stage that is hovered or merged. */
  drawToken(ctx, s, w, h) {
    const { stages, merge } = this.now.header;
    const level = this.hover ? (this.panels[s].level ?? s) : merge ? merge.stage : s;
    const whole = stages[Math.max(level, s)];
    const token = cellAt([whole.rows, whole.cols], this.hover ?? this.now.header.pin);
    const [wide, tall] = [w / whole.cols, h / whole.rows];
    frame(ctx, (token % whole.cols) * wide, Math.floor(token / whole.cols) * tall, wide, tall);
  }

  strip(k, values, width, top, borders) {
    const { map, label } = this.rows[k];
    const ctx = map.size(width, 14);
    map.node.setAttribute('aria-label', `${label.textContent}: ${values.length} values between ±${top.toFixed(3)}`);
    blit(ctx, heat(values, 1, values.length, DIVERGING_LUT, -top, top), 0, 0, width, 14);
    borders.forEach((color, i) => {
      const part = width / borders.length;
      fill(ctx, color, i * part, 11, part - (borders.length > 1 ? 1 : 0), 3);
    });
  }

  drawMerge() {
    const { merge, stages } = this.now.header;
    this.strips.style.display = merge ? '' : 'none';
    if (!merge) {
      this.mergeHead.textContent = 'One stage: no patch merging';
      this.note.textContent = '';
      return;
    }
    const { four, normed, merged } = this.now.arrays;
    const C = four.shape[1];
    const room = Math.max(80, Math.min(grown(640), this.now.width - (this.now.width >= 640 ? 320 : 150)));
    const top = greatest(four.data);
    this.mergeHead.textContent = `Merging into stage ${merge.stage + 1}: token (${merge.token.map((at) => at + 1).join(', ')}) from four tokens`;
    QUAD.forEach((i) => {
      this.rows[i].label.textContent =
        `x[${i % 2}::2, ${i >> 1}::2]: token (${merge.four[i].map((at) => at + 1).join(', ')})`;
      this.strip(i, four.data.subarray(i * C, (i + 1) * C), room / 4, top, [QUAD_COLORS[i]]);
      this.rows[i].shape.textContent = `${C}`;
    });
    this.rows[4].label.textContent = 'concatenation, 4C';
    this.strip(4, four.data, room, top, QUAD_COLORS);
    this.rows[4].shape.textContent = `${4 * C}`;
    this.rows[5].label.textContent = 'LayerNorm';
    this.strip(5, normed.data, room, greatest(normed.data), QUAD_COLORS);
    this.rows[5].shape.textContent = `${4 * C}`;
    this.rows[6].label.textContent = '· W, no bias: 2C';
    this.strip(6, merged.data, room / 2, greatest(merged.data), [this.now.colors.muted]);
    this.rows[6].shape.textContent = `${2 * C}`;
    const before = stages[merge.stage - 1];
    const after = stages[merge.stage];
    const share = (2 * after.rows * after.cols) / (before.rows * before.cols);
    const fewer = share === 0.5 ? 'half as many values' : `${share.toFixed(2)} times as many values`;
    this.note.textContent =
      `W is ${4 * C} × ${2 * C}. ${before.rows} × ${before.cols} tokens of ${C} channels become ` +
      `${after.rows} × ${after.cols} of ${2 * C}: ${fewer}.`;
  }

  drawAll() {
    this.panels.forEach((_, s) => this.drawPanel(s));
  }

  add(s) {
    const box = el(this.grid, 'div');
    const head = el(box, 'div', { class: 'sw-head' });
    const map = canvas(box, { class: 'sw-cross' });
    const bar = el(box, 'div', { class: 'sw-channels' });
    const note = el(box, 'div', { 'data-role': `stage${s}` });
    const why = el(box, 'div', { class: 'vv-muted sw-why' });
    const grid = () => [this.now.header.stages[s].rows, this.now.header.stages[s].cols];
    gridNavigation(map.node, {
      label: `Tokens of stage ${s + 1}`,
      grid,
      hover: (i, event) => this.pointAt(s, grid(), i, event),
      pick: (i) => this.trigger('pin', centreOf(grid(), i)),
    });
    return { box, head, map, bar, note, why, side: 100, level: null };
  }

  pointAt(s, grid, i, event) {
    this.hover = i < 0 ? null : centreOf(grid, i);
    for (const panel of this.panels) panel.level = i < 0 ? null : s;
    this.drawAll();
    if (i < 0) return this.tip.hide();
    const [, cols] = grid;
    const [r, c] = [Math.floor(i / cols), i % cols];
    const { stages } = this.now.header;
    const px = `${stages[s].px} × ${stages[s].px} px`;
    const patches = (token, all) => Math.min((token + 1) * 2 ** s, all) - token * 2 ** s; // fewer at an uneven end
    const made = s ? `, merged from ${patches(r, stages[0].rows) * patches(c, stages[0].cols)} patches` : '';
    const text = `Stage ${s + 1}, token (${r + 1}, ${c + 1}): ${px}${made}`;
    if (event?.type === 'keydown') this.say(text);
    // The tooltip stays above the map so that neighbouring tokens remain visible.
    const { map, side } = this.panels[s];
    this.tip.showOver(map.node, ((c + 1) * side) / cols, -16, text);
  }

  update(message, fresh) {
    this.now = message;
    const { stages } = this.now.header;
    const total = stages.length;
    if (fresh) {
      this.image = picture(this.now.arrays.shown);
      this.hover = null;
    }
    setCount(this.panels, total, (s) => this.add(s));
    // Each stage is smaller than the one before so that all fit side by side.
    const shares = stages.map((_, s) => 0.62 ** s);
    const sum = shares.reduce((a, b) => a + b, 0);
    const narrow = this.now.width < 640;
    const room = this.now.width - 24 * (total - 1);
    let first = narrow ? Math.min(this.now.width, 320) : Math.min(grown(360), room / sum);
    // Small stages keep the width of their text; large stages shrink.
    while (!narrow && first > 160 && shares.reduce((all, share) => all + Math.max(LEAST, share * first), 0) > room)
      first -= 8;
    this.panels.forEach((self, s) => {
      const stage = stages[s];
      self.side = Math.floor(first * shares[s]);
      self.box.style.width = `${Math.max(self.side, LEAST)}px`;
      self.head.textContent = `Stage ${s + 1}`;
      self.note.textContent = `${stage.rows} × ${stage.cols} × ${stage.dim.toLocaleString('en')}`;
      self.why.textContent = `${stage.px} px tokens\n${plural(stage.blocks, 'block')} · ${plural(stage.heads, 'head')}`;
    });
    this.drawAll();
    this.drawMerge();
  }
}
