// Light one patch and step through the blocks: where can its information be, with and without the shift?
// header: {rows, cols, pin, blocks, panels: [{title, note}]}
// arrays: shown (S, S, 3) uint8; hops (panels, output, input) uint8: blocks until the input can have reached the output

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { animate } from '../../views/kit/motion.js';
import { PALETTE } from '../../views/kit/palette.js';
import { blit, picture } from '../../views/kit/pixels.js';

const STEP_MS = 1000;

class SwinReach {
  constructor({ root, trigger, onUnmount }) {
    this.root = root;
    this.trigger = trigger;
    this.onUnmount = onUnmount;
    this.now = null;
    this.block = 1;
    this.grown = 1;
    this.hover = -1;
    this.pinned = 0;
    this.forward = true;
    this.playing = false;
    this.timer = 0;
    this.stop = () => {};
    this.image = null;
    this.drive = el(this.root, 'div', { class: 'vv-row' });
    this.back = this.press(this.drive, '◀', 'One block back', () => {
      this.pause();
      this.go(this.block - 1);
    });
    this.play = this.press(this.drive, '▶ Play', 'Play through the blocks', () =>
      this.playing ? this.pause() : this.begin(),
    );
    this.next = this.press(this.drive, '▶', 'One block further', () => {
      this.pause();
      this.go(this.block + 1);
    });
    this.scrub = el(this.drive, 'input', { type: 'range', min: 0, step: 1, 'aria-label': 'Blocks' });
    this.scrub.oninput = () => {
      this.pause();
      this.go(Number(this.scrub.value));
    };
    this.counted = el(this.drive, 'span', { class: 'sw-counted' });
    this.ways = el(this.drive, 'span', { class: 'vv-row', role: 'group', 'aria-label': 'Direction' });
    this.out = this.press(this.ways, 'Where this patch reaches', 'Where this patch reaches', () => this.turn(true));
    this.into = this.press(this.ways, 'What this token reads', 'What this token reads', () => this.turn(false));
    this.grid = el(this.root, 'div', { class: 'sw-panels' });
    this.panels = [];
    this.chartHead = el(this.root, 'div', { class: 'sw-head sw-above' });
    this.chart = canvas(this.root, { role: 'img' });
    this.say = live(this.root);
    this.onUnmount(() => {
      this.playing = false;
      clearTimeout(this.timer);
      this.stop();
    });
  }

  press(parent, text, label, act) {
    const node = el(parent, 'button', { type: 'button', 'aria-label': label }, text);
    node.onclick = act;
    return node;
  }

  count() {
    return this.now.header.rows * this.now.header.cols;
  }

  active() {
    return this.hover >= 0 ? this.hover : this.pinned;
  }

  hop(panel, other) {
    const n = this.count();
    const p = this.active();
    const [o, i] = this.forward ? [other, p] : [p, other];
    return this.now.arrays.hops.data[(panel * n + o) * n + i];
  }

  reached(panel, at) {
    let sum = 0;
    for (let q = 0; q < this.count(); q++) sum += this.hop(panel, q) <= at;
    return sum;
  }

  drawPanel(k) {
    const { rows, cols } = this.now.header;
    const self = this.panels[k];
    const w = self.side;
    const step = w / cols;
    const { colors } = this.now;
    const ctx = self.map.size(w, step * rows);
    blit(ctx, this.image, 0, 0, w, step * rows, this.image.width > w);
    for (let q = 0; q < this.count(); q++) {
      const x = (q % cols) * step;
      const y = Math.floor(q / cols) * step;
      const at = this.hop(k, q);
      // A patch that is being reached fades in; the ones before stay lit, older ones lighter.
      const lit = Math.max(0, Math.min(1, this.grown - at + 1));
      ctx.globalAlpha = 0.78 * (1 - lit);
      ctx.fillStyle = colors.paper;
      ctx.fillRect(x, y, step + 0.5, step + 0.5);
      if (lit > 0) {
        ctx.globalAlpha = lit * (at === 0 ? 0 : at === Math.max(1, this.block) ? 0.5 : 0.24);
        ctx.fillStyle = colors.query;
        ctx.fillRect(x, y, step + 0.5, step + 0.5);
      }
    }
    ctx.globalAlpha = 0.35;
    ctx.strokeStyle = colors.ink;
    ctx.lineWidth = 0.5;
    for (let i = 1; i < cols; i++) {
      ctx.beginPath();
      ctx.moveTo(i * step, 0);
      ctx.lineTo(i * step, step * rows);
      ctx.moveTo(0, i * step);
      ctx.lineTo(w, i * step);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    const x = (this.active() % cols) * step;
    const y = Math.floor(this.active() / cols) * step;
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 4;
    ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2.5;
    ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    const found = this.reached(k, this.block);
    self.note.textContent = `${found.toLocaleString('en')} of ${this.count().toLocaleString('en')} patches · ${((100 * found) / this.count()).toFixed(0)} %`;
  }

  drawChart() {
    const { blocks, panels: names } = this.now.header;
    const { colors } = this.now;
    const width = Math.min(this.now.width, 720);
    const height = 168;
    const ctx = this.chart.size(width, height);
    const left = 40;
    const right = width - 168;
    const top = 8;
    const bottom = height - 28;
    const px = (b) => left + ((right - left) * b) / blocks;
    const py = (share) => bottom - (bottom - top) * share;
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    for (const share of [0, 0.5, 1]) {
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, py(share));
      ctx.lineTo(right, py(share));
      ctx.stroke();
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'right';
      ctx.fillText(`${100 * share} %`, left - 6, py(share));
    }
    ctx.textAlign = 'center';
    for (let b = 0; b <= blocks; b++) ctx.fillText(b, px(b), bottom + 14);
    ctx.strokeStyle = colors.query;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(px(this.grown), top);
    ctx.lineTo(px(this.grown), bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    const ends = names
      .map((panel, k) => ({ k, title: panel.title, y: py(this.reached(k, blocks) / this.count()) }))
      .sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => {
      end.at = i ? Math.max(end.y, ends[i - 1].at + 16) : end.y;
    });
    for (const { k, title, at } of ends) {
      const color = PALETTE.HEADS[[5, 1, 2, 3][k % 4]];
      ctx.strokeStyle = color;
      ctx.lineWidth = 2;
      ctx.beginPath();
      for (let b = 0; b <= blocks; b++) ctx[b ? 'lineTo' : 'moveTo'](px(b), py(this.reached(k, b) / this.count()));
      ctx.stroke();
      ctx.fillStyle = color;
      ctx.beginPath();
      ctx.arc(px(this.block), py(this.reached(k, this.block) / this.count()), 4, 0, 7);
      ctx.fill();
      ctx.fillStyle = colors.ink;
      ctx.textAlign = 'left';
      ctx.fillText(title, right + 10, at);
      ctx.fillStyle = color;
      ctx.fillRect(right + 2, at - 4, 4, 8);
    }
    this.chartHead.textContent = `Share of the picture ${this.forward ? 'reached' : 'read'}, after each block`;
    this.chart.node.setAttribute(
      'aria-label',
      names
        .map(
          (panel, k) =>
            `${panel.title}: ${Array.from({ length: blocks + 1 }, (_, b) => this.reached(k, b)).join(', ')}`,
        )
        .join('; '),
    );
  }

  drawAll() {
    this.panels.forEach((_, k) => this.drawPanel(k));
    this.drawChart();
    this.counted.textContent =
      this.block === 0 ? 'before block 1' : `after ${this.block} block${this.block > 1 ? 's' : ''}`;
    this.scrub.value = this.block;
    this.back.disabled = this.block <= 0;
    this.next.disabled = this.block >= this.now.header.blocks;
    this.out.setAttribute('aria-pressed', String(this.forward));
    this.into.setAttribute('aria-pressed', String(!this.forward));
    this.root.dataset.block = String(this.block);
    this.root.dataset.reached = this.panels.map((_, k) => this.reached(k, this.block)).join(' ');
  }

  go(target, done = () => {}) {
    this.stop();
    const to = Math.max(0, Math.min(this.now.header.blocks, target));
    const from = this.grown;
    this.block = to;
    this.stop = animate(
      450,
      (t) => {
        this.grown = from + (to - from) * t;
        this.drawAll();
      },
      () => {
        this.say(
          `${this.counted.textContent}: ${this.panels.map((p, k) => `${this.now.header.panels[k].title} ${p.note.textContent}`).join('; ')}`,
        );
        done();
      },
    );
  }

  begin() {
    this.playing = true;
    this.face();
    if (this.block >= this.now.header.blocks) {
      this.block = 0;
      this.grown = 0;
      this.drawAll();
    }
    this.advance();
  }

  advance() {
    if (!this.playing) return;
    if (this.block >= this.now.header.blocks) {
      this.pause();
      return;
    }
    this.go(this.block + 1, () => {
      this.timer = setTimeout(() => this.advance(), STEP_MS);
    });
  }

  pause() {
    this.playing = false;
    clearTimeout(this.timer);
    this.stop();
    if (this.now) this.grown = this.block;
    this.face();
  }

  face() {
    this.play.textContent = this.playing ? '❚❚ Pause' : '▶ Play';
    this.play.setAttribute('aria-label', this.playing ? 'Pause' : 'Play through the blocks');
  }

  turn(way) {
    this.forward = way;
    this.drawAll();
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
    this.panels[k] = self;
    gridNavigation(self.map.node, {
      label: `Patches, panel ${k + 1}`,
      rows: () => this.now.header.rows,
      cols: () => this.now.header.cols,
      hover: (i, event) => {
        this.hover = i;
        this.drawAll();
        if (event?.type === 'keydown' && i >= 0) this.say(`Patch ${i + 1}: ${self.note.textContent}`);
      },
      pick: (i) => {
        this.pinned = i;
        const { rows, cols } = this.now.header;
        this.trigger('pin', [((i % cols) + 0.5) / cols, (Math.floor(i / cols) + 0.5) / rows]);
        this.drawAll();
      },
      keys: { n: () => this.next.click(), b: () => this.back.click(), p: () => this.play.click() },
    });
  }

  update(message) {
    const fresh = this.now?.arrays !== message.arrays;
    this.now = message;
    const { header, width } = this.now;
    while (this.panels.length < header.panels.length) this.addPanel(this.panels.length);
    if (fresh) {
      this.pause();
      this.image = picture(this.now.arrays.shown);
      this.pinned = header.pin;
      this.hover = -1;
      this.block = this.grown = Math.min(this.block, header.blocks);
    }
    this.scrub.max = header.blocks;
    const across = width >= 760 ? 4 : 2;
    const side = Math.floor((width - 16 * (across - 1)) / across);
    this.panels.forEach((self, k) => {
      self.side = side;
      self.box.style.width = `${side}px`;
      self.head.textContent = header.panels[k].title;
      self.why.textContent = header.panels[k].note;
    });
    this.drawAll();
  }
}

export default function swinReach(context) {
  const view = new SwinReach(context);
  return (message) => view.update(message);
}
