// Step through a pair of Swin blocks: numbered patches move while the grid is cut, rolled and masked.
// header: {rows, cols, window, shift, pin, begin, captions: a finding per stage}
// arrays: shown (S, S, 3) uint8; ids (rows, cols) uint8; plain, index (windows, M M) int32;
//         allowed (windows, M M, M M) uint8; attn, unmasked the same, float32; leak (patches) float32

import { button, canvas, el, live, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation } from '../../../vitviz/browser/kit/grid.js';
import { picture } from '../../../vitviz/browser/kit/pixels.js';
import { centreOf } from '../../../vitviz/browser/kit/pin.js';
import { timeline } from '../../../vitviz/browser/kit/player.js';
import { rgb } from '../../../vitviz/browser/kit/colour_ramp.js';
import { counted } from '../../../vitviz/browser/kit/text.js';
import { grown } from '../../../vitviz/browser/kit/figure_scale.js';
import { KeptMoment } from './kept_moment.js';
import { GAP, ROW_GAP, TOP, Windows, LAST, STAGES, describeStage, pose, tensorShapes } from './swin_stepper_stages.js';
import { drawStage, paint, drawAllWindows, drawMatrix, drawMini } from './swin_stepper_drawing.js';

const DWELL_MS = 1100;
const MOVE_MS = 600;

export default class SwinStepper extends Windows {
  constructor({ root, trigger, onUnmount, alone = false }) {
    super();
    Object.assign(this, { root, trigger, alone, hover: -1, pinned: 0, begun: 0, leaking: false, drawn: '' });
    // Recomputed for each message: sizes, layers of patches and matrices, slots, masked pairs.
    Object.assign(this, { side: 0, tile: null, layers: null, slots: null, shut: null, frames: 0 });
    this.matrices = new Map();
    this.buildDrive();
    this.buildMaps();
    Object.assign(this, { tip: tooltip(root), say: live(root) });
    onUnmount(() => this.time.stop());
    this.listen();
  }

  /** Build the row of the player: Play, the stages as cards, and below them the slider between the stages. */
  buildDrive() {
    this.time = timeline(this.root, {
      class: 'sw-drive',
      label: 'Position between the stages',
      fine: '0.01',
      last: () => LAST,
      words: () => `${this.stage() + 1}: ${STAGES[this.stage()].name}`,
      show: () => this.show(),
      dwell: DWELL_MS,
      ms: MOVE_MS,
      file: 'swin_shift',
      faces: { play: ['▶ Play', 'Play'], pause: ['❚❚ Pause', 'Pause'] },
    });
    const line = el(null, 'div', { class: 'sw-line' });
    this.time.play.after(line);
    this.time.words.hidden = true; // the cards say it
    const bar = el(line, 'div', { class: 'sw-bar', role: 'group', 'aria-label': 'Stages' });
    const nav = el(line, 'div', { class: 'sw-nav' }); // on a phone, in place of the cards
    this.neighbours = [-1, 1].map((by) => ({ by, node: button(nav, '', () => this.step(by)) }));
    line.append(this.time.slider);
    this.kept = new KeptMoment((stage) => this.trigger('stage', stage));
    this.time.slider.onchange = () => this.tell();
    this.buttons = STAGES.map((stage, i) => {
      const node = button(bar, '', () => this.jump(i), {
        'data-stage': stage.key,
        'aria-label': `${i + 1} ${stage.name}`,
      });
      const name = el(node, 'span', { class: 'sw-name' }, `${i + 1}`);
      el(name, 'span', {}, ` ${stage.name}`);
      return node;
    });
  }

  /** The position between the stages. */
  get at() {
    return this.time.place;
  }

  buildMaps() {
    this.layout = el(this.root, 'div', { class: 'sw-layout' });
    this.left = el(this.layout, 'div', { class: 'sw-left' });
    const right = el(this.layout, 'div', { class: 'sw-right' });
    this.map = canvas(this.left, { class: 'sw-map' });
    const told = el(right, 'div', { class: 'sw-told' });
    const title = el(told, 'div', { class: 'sw-title' });
    this.heading = el(title, 'span', { 'data-role': 'step' });
    this.shape = el(title, 'span', { class: 'vv-mono vv-muted', 'data-role': 'shape' });
    this.sentence = el(told, 'div', { 'data-role': 'told' });
    const patch = el(right, 'div', { class: 'sw-patch' });
    this.title = el(patch, 'b', { 'data-role': 'title' });
    this.place = el(patch, 'span', { class: 'vv-muted', 'data-role': 'place' });
    this.panels = el(right, 'div', { class: 'sw-panels' });
    [this.regular, this.shifted, this.own, this.every] = ['regular', 'shifted', 'matrix', 'all'].map((kind) => {
      const box = el(this.panels, 'div', { class: 'sw-panel' });
      const head = el(box, 'div', { class: 'sw-head' });
      const map = canvas(box, { role: 'img' });
      const beside = el(box, 'div');
      return { kind, head, map, beside, note: el(beside, 'div', { class: 'sw-note', 'data-role': kind }) };
    });
    this.every.map.node.classList.add('sw-cross');
    this.key = el(this.own.beside, 'div', { class: 'sw-key' });
    this.leak = button(this.every.beside, 'Without the mask', () => this.switchLeak(), { 'aria-pressed': 'false' });
    this.leak.title = 'Removes the mask of the shifted block';
    this.finding = el(this.root, 'p', { class: 'sw-finding', 'data-role': 'finding' });
  }

  listen() {
    this.time.node.onkeydown = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by || event.target === this.time.slider) return;
      event.preventDefault();
      this.step(by);
    };
    gridNavigation(this.map.node, {
      label: 'Patches of the image; N: next stage, B: previous, P: play, M: mask',
      grid: () => [this.header.rows, this.header.cols],
      cellAt: (x, y) => {
        const p = this.patchAt(x, y);
        return p < 0 ? -1 : this.rolled(p, -this.currentRoll());
      },
      hover: (cell, event) => this.point(cell, event),
      pick: (cell) => this.pin(this.patchIn(cell)),
      keys: {
        n: () => this.step(1),
        b: () => this.step(-1),
        p: () => this.time.play.click(),
        m: () => this.leak.click(),
      },
    });
    gridNavigation(this.every.map.node, {
      label: 'One matrix per window, query by key',
      grid: () => [this.allGeometry().down, this.allGeometry().across],
      hover: (window) => this.pointWindow(window),
    });
  }

  point(cell, event) {
    this.hover = cell < 0 ? -1 : this.patchIn(cell);
    this.drawAll();
    if (event?.type !== 'keydown' || this.hover < 0) return;
    this.say(`${this.title.textContent}. ${this.regular.note.textContent}. Shifted: ${this.shifted.note.textContent}`);
  }

  pin(patch) {
    this.pinned = patch;
    this.trigger('pin', centreOf([this.header.rows, this.header.cols], patch));
    this.drawAll();
  }

  pointWindow(i) {
    if (i < 0) {
      this.tip.hide();
      this.hover = -1;
      return this.drawAll();
    }
    const { across, width, gap } = this.allGeometry();
    const index = this.isShifted() ? this.now.arrays.index : this.now.arrays.plain;
    this.hover = index.data[i * this.cells];
    this.drawAll();
    const text = `Window ${i + 1}: ${counted(this.masked(i))} of ${counted(this.cells ** 2)} pairs masked`;
    this.say(text);
    this.tip.showOver(this.every.map.node, (i % across) * (width + gap), Math.floor(i / across) * (width + gap), text);
  }

  switchLeak() {
    this.leaking = !this.leaking;
    this.leak.setAttribute('aria-pressed', String(this.leaking));
    this.drawAll();
  }

  drawText() {
    const k = this.stage();
    const { w, q } = this.home();
    const p = this.active();
    this.heading.textContent = `Step ${k + 1} of ${STAGES.length}: ${STAGES[k].name}`;
    this.sentence.textContent = describeStage(k, this.header, this.alone);
    this.finding.textContent = this.header.captions[k];
    this.panels.classList.toggle('sw-without-mask', !this.hasMask());
    for (const { by, node } of this.neighbours) {
      const name = STAGES[k + by]?.name;
      node.disabled = !name;
      node.textContent = by < 0 ? `‹ ${name ?? ''}` : `${name ?? ''} ›`;
      node.setAttribute('aria-label', `${by < 0 ? 'Previous' : 'Next'} step${name ? `: ${name}` : ''}`);
    }
    const { cols } = this.header;
    this.title.textContent = `Patch ${p + 1} · row ${Math.floor(p / cols) + 1}, column ${(p % cols) + 1}`;
    this.place.textContent =
      `${this.isShifted() ? 'after the roll: ' : ''}window ${w + 1}, slot ${q + 1}` +
      (this.isShifted() ? ` · region ${this.regionOf(p)}` : '');
    this.shape.textContent = tensorShapes(this.header)[k];
    this.buttons.forEach((node, i) => {
      if (i === k) node.setAttribute('aria-current', 'step');
      else node.removeAttribute('aria-current');
    });
    this.root.dataset.stage = STAGES[k].key;
  }

  drawTime() {
    this.time.draw();
    this.root.dataset.at = this.at.toFixed(2);
  }

  drawSide() {
    drawMini(this, this.regular);
    drawMini(this, this.shifted);
    drawMatrix(this);
    drawAllWindows(this);
  }

  drawAll() {
    drawStage(this);
    this.drawText();
    this.drawSide();
    this.drawTime();
  }

  // ------------------------------------------------------------ motion
  /** Draw a moment; matrices and texts change between stages, not between frames. */
  show() {
    const drawn = `${this.stage()} ${this.isShifted()}`;
    const isStage = Number.isInteger(this.at);
    if (drawn !== this.drawn || isStage) {
      this.drawn = drawn;
      this.drawAll();
    } else {
      drawStage(this);
      this.drawTime();
    }
    if (isStage) this.say(`Stage ${this.at + 1}, ${STAGES[this.at].name}. ${this.sentence.textContent}`);
  }

  /** Go one stage on (1) or back (-1); during the motion, from the stage that it goes to. */
  step(by) {
    const { at } = this.time;
    this.jump(by > 0 ? Math.floor(at) + 1 : Math.ceil(at) - 1);
  }

  jump(stage) {
    this.time.jump(stage);
    this.tell();
  }

  /** Let the address keep the stage. */
  tell() {
    this.kept.tell(Math.round(this.time.at));
  }

  // ------------------------------------------------------------ pointing
  patchAt(x, y) {
    const p0 = pose(this.at);
    const { rows, cols } = this.header;
    const step = this.tile.step;
    for (let p = 0; p < this.count; p++) {
      const c = this.corner(p, p0);
      const inX = x - c.x;
      const inY = y - c.y;
      if (
        ((inX >= 0 && inX < step) || (c.c > cols - 1 && inX + cols * step >= 0 && inX + cols * step < step)) &&
        ((inY >= 0 && inY < step) || (c.r > rows - 1 && inY + rows * step >= 0 && inY + rows * step < step))
      )
        return p;
    }
    return -1;
  }

  /** Return the current roll; arrow keys move on the rolled grid. */
  currentRoll() {
    return pose(this.at).roll > 0.5 ? this.header.shift : 0;
  }

  patchIn(cell) {
    return this.rolled(cell, this.currentRoll());
  }

  /** Return sizes in pixels and RGB colours for the current width. */
  sizes(rest) {
    const { rows, cols, window: M } = this.header;
    const most = Math.max(rows, cols);
    const step = (this.side - GAP * (most / M - 1)) / most;
    return {
      rgb: Object.fromEntries(['query', 'primary'].map((name) => [name, rgb(this.now.colors[name])])),
      step,
      height: TOP + step * rows + ROW_GAP * (rows / M - 1),
      image: picture(this.now.arrays.shown),
      mini: Math.min(grown(152), Math.floor(rest * 0.45)),
      large: Math.min(grown(300), Math.floor((rest - 16) / 2)),
    };
  }

  update(message, fresh) {
    const { header, width } = message;
    Object.assign(this, { now: message, header, count: header.rows * header.cols, cells: header.window ** 2 });
    const wide = width >= 640;
    this.layout.classList.toggle('sw-wide', wide);
    this.matrices.clear();
    const isAnswer = header.begin !== this.begun && this.kept.isAnswer(header.begin);
    if (fresh) {
      this.findSlots();
      this.countMasked();
    }
    if (fresh && !isAnswer) {
      this.pinned = header.pin;
      this.hover = -1;
      this.time.stop();
      this.time.at = this.stage();
    }
    this.side = wide ? Math.min(grown(520), Math.floor(width * 0.5)) : Math.min(width, grown(520));
    this.tile = this.sizes(wide ? width - this.side - 32 : width);
    this.left.style.width = `${this.side}px`;
    paint(this);
    this.drawAll();
    if (header.begin !== this.begun && !isAnswer) this.time.move(header.begin);
    this.begun = header.begin;
  }
}
