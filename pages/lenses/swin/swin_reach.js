// The patches that information from one patch reaches after each block, for several architectures.
// header: {rows, cols, pin, blocks, begin, panels: [{title, note}], colors: by panel}
// arrays: shown (S, S, 3) uint8; hops (panels, output, input) uint8: blocks until the input reaches the output

import { fill, frame, lattice } from '../../../vitviz/browser/kit/axes.js';
import { counted, plural } from '../../../vitviz/browser/kit/text.js';
import { timeline } from '../../../vitviz/browser/kit/player.js';
import { button, canvas, disable, el, live, setCount } from '../../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameGrid } from '../../../vitviz/browser/kit/grid.js';
import { blit, picture } from '../../../vitviz/browser/kit/pixels.js';
import { centreOf } from '../../../vitviz/browser/kit/pin.js';
import { Plot } from '../../../vitviz/browser/kit/plot.js';
import { KeptMoment } from './kept_moment.js';

const STEP_MS = 1000;

export default class SwinReach {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, panels: [], begun: 1, hover: -1, pinned: 0, forward: true });
    this.buildTime();
    this.grid = el(root, 'div', { class: 'sw-panels' });
    this.chartHead = el(root, 'div', { class: 'sw-head sw-above' });
    this.chart = canvas(root, { role: 'img' });
    this.say = live(root);
    onUnmount(() => this.time.stop());
  }

  buildTime() {
    this.time = timeline(this.root, {
      class: 'vv-row sw-reach',
      label: 'Blocks',
      last: () => this.now.header.blocks,
      words: (block) => (block === 0 ? 'before block 1' : `after ${plural(block, 'block')}`),
      show: () => this.show(),
      dwell: STEP_MS,
      ms: 450,
      file: 'swin_reach',
      faces: { play: ['▶ Play', 'Play through the blocks'], pause: ['❚❚ Pause', 'Pause'] },
    });
    this.time.at = 1;
    this.kept = new KeptMoment((blocks) => this.trigger('blocks', blocks));
    this.time.slider.onchange = () => this.kept.tell(this.time.at);
    const step = (by) => {
      this.time.jump(this.time.at + by);
      this.kept.tell(this.time.at);
    };
    const press = (parent, text, label, act) => button(parent, text, act, { 'aria-label': label });
    this.back = press(null, '‹', 'One block back', () => step(-1));
    this.next = press(null, '›', 'One block forward', () => step(1));
    this.time.slider.after(this.back, this.next);
    const ways = el(null, 'span', { class: 'vv-row', role: 'group', 'aria-label': 'Direction' });
    this.time.words.after(ways);
    const way = (text, forward) =>
      press(ways, text, text, () => {
        this.forward = forward;
        this.drawAll();
      });
    this.out = way('Patches reached', true);
    this.into = way('Patches read', false);
  }

  active() {
    return this.hover >= 0 ? this.hover : this.pinned;
  }

  hop(panel, other) {
    const n = this.count;
    const p = this.active();
    const [o, i] = this.forward ? [other, p] : [p, other];
    return this.now.arrays.hops.data[(panel * n + o) * n + i];
  }

  reached(panel, at) {
    let sum = 0;
    for (let q = 0; q < this.count; q++) sum += this.hop(panel, q) <= at;
    return sum;
  }

  drawPanel(k) {
    const { rows, cols, panels } = this.now.header;
    const self = this.panels[k];
    const step = self.side / cols;
    const ctx = self.map.size(self.side, step * rows);
    blit(ctx, this.image, 0, 0, self.side, step * rows, this.image.width > self.side);
    for (let q = 0; q < this.count; q++) this.drawPatch(ctx, k, q, step);
    ctx.globalAlpha = 0.35;
    lattice(ctx, this.now.colors.ink, 0.5, rows, cols, self.side, step * rows);
    ctx.globalAlpha = 1;
    frame(ctx, (this.active() % cols) * step, Math.floor(this.active() / cols) * step, step, step);
    const patches = this.reached(k, this.time.at);
    const share = ((100 * patches) / this.count).toFixed(0);
    self.note.textContent = `${counted(patches)} of ${counted(this.count)} patches · ${share} %`;
    const { title } = panels[k];
    nameGrid(self.map.node, `${title}, block ${this.time.at}, patch ${this.active() + 1}: ${self.note.textContent}`);
  }

  /** Draw a patch: newly reached patches fade in, earlier ones are lighter. */
  drawPatch(ctx, k, q, step) {
    const { cols } = this.now.header;
    const at = this.hop(k, q);
    const lit = Math.max(0, Math.min(1, this.time.place - at + 1));
    const box = [(q % cols) * step, Math.floor(q / cols) * step, step + 0.5, step + 0.5];
    fill(ctx, this.now.colors.paper, ...box, 0.78 * (1 - lit));
    const strength = at === 0 ? 0 : at === Math.max(1, this.time.at) ? 0.5 : 0.24;
    if (lit > 0) fill(ctx, this.now.colors.query, ...box, lit * strength);
  }

  drawChart() {
    const { blocks, panels, colors } = this.now.header;
    const width = Math.min(this.now.width, 720);
    const plot = new Plot(this.chart.size(width, 184), this.now.colors, [48, width - 168, 8, 140], { x: [0, blocks] });
    plot.axisY([0, 0.5, 1], (share) => `${100 * share} %`);
    const steps = Array.from({ length: blocks + 1 }, (_, block) => block);
    plot.axisX(steps, String, 'blocks');
    plot.upright(this.time.place, this.now.colors.ink, 1, [3, 3]);
    const share = (k, block) => this.reached(k, block) / this.count;
    const ends = panels.map(({ title }, k) => {
      const points = steps.map((block) => [block, share(k, block)]);
      const end = plot.line(points, k + 4 - panels.length, { color: colors[k], width: 2 }); // a shift's is first
      plot.dot(plot.x(this.time.at), plot.y(share(k, this.time.at)), 4, colors[k]);
      return { ...end, name: title };
    });
    plot.nameEnds(ends, 16);
    this.chartHead.textContent = `Share of the image ${this.forward ? 'reached' : 'read'} after each block`;
    const texts = panels.map(({ title }, k) => `${title}: ${steps.map((block) => this.reached(k, block)).join(', ')}`);
    this.chart.node.setAttribute('aria-label', texts.join('; '));
  }

  drawAll() {
    this.panels.forEach((_, k) => this.drawPanel(k));
    this.drawChart();
    this.time.draw();
    const { at } = this.time;
    disable(this.back, at <= 0 ? 'No block before' : '');
    disable(this.next, at >= this.now.header.blocks ? 'No further block' : '');
    this.out.setAttribute('aria-pressed', String(this.forward));
    this.into.setAttribute('aria-pressed', String(!this.forward));
    this.root.dataset.block = String(at);
    this.root.dataset.reached = this.panels.map((_, k) => this.reached(k, at)).join(' ');
  }

  /** Draw a moment of the motion between blocks; announce a block where it ends. */
  show() {
    this.drawAll();
    if (this.time.place !== this.time.at) return;
    const notes = this.panels.map(({ note }, k) => `${this.now.header.panels[k].title} ${note.textContent}`);
    this.say(`${this.time.words.textContent}: ${notes.join('; ')}`);
  }

  addPanel(k) {
    const box = el(this.grid, 'div');
    const self = {
      box,
      head: el(box, 'div', { class: 'sw-head' }),
      map: canvas(box, { class: 'sw-cross' }),
      note: el(box, 'div', { 'data-role': `reach${k}` }),
      why: el(box, 'div', { class: 'vv-muted sw-why' }),
      side: 100,
    };
    gridNavigation(self.map.node, {
      label: `Patches, panel ${k + 1}`,
      grid: () => [this.now.header.rows, this.now.header.cols],
      hover: (i, event) => {
        this.hover = i;
        this.drawAll();
        if (event?.type === 'keydown' && i >= 0) this.say(`Patch ${i + 1}: ${self.note.textContent}`);
      },
      pick: (i) => {
        this.pinned = i;
        this.trigger('pin', centreOf([this.now.header.rows, this.now.header.cols], i));
        this.drawAll();
      },
      keys: { n: () => this.next.click(), b: () => this.back.click(), p: () => this.time.play.click() },
    });
    return self;
  }

  update(message, fresh) {
    this.now = message;
    const { header, width } = this.now;
    this.count = header.rows * header.cols;
    setCount(this.panels, header.panels.length, (k) => this.addPanel(k));
    if (fresh) {
      this.time.stop();
      this.image = picture(this.now.arrays.shown);
      this.pinned = header.pin;
      this.hover = -1;
      this.time.at = Math.min(this.time.at, header.blocks);
    }
    const across = width >= 640 ? 4 : 2;
    const side = Math.floor((width - 16 * (across - 1)) / across);
    this.panels.forEach((self, k) => {
      self.side = side;
      self.box.style.width = `${side}px`;
      self.head.textContent = header.panels[k].title;
      self.why.textContent = header.panels[k].note;
    });
    this.drawAll();
    if (header.begin !== this.begun && !this.kept.isAnswer(header.begin)) this.time.move(header.begin);
    this.begun = header.begin;
  }
}
