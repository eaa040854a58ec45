// A run's life: a timeline of its snapshots, and pictures that are redrawn from one flip-book without the server.

import { listen, tell } from '../../views/kit/bus.js';
import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT, accentLut, headColor } from '../../views/kit/ramp.js';

const GUTTER = 2;
const FRAME_MS = 220;
const RAMP = Uint8Array.from({ length: 256 }, (_, i) => i);
const TABLES = { diverging: DIVERGING_LUT, sequential: SEQUENTIAL_LUT };

const counted = (value) => Math.round(value).toLocaleString('en').replaceAll(',', '\u202f');

// Where each run's timeline stood: a page that is drawn anew (a run has ended) must not lose it.
const stood = new Map();

class Life {
  constructor({ root, send, trigger, onUnmount }) {
    this.root = root;
    this.send = send;
    this.trigger = trigger;
    this.onUnmount = onUnmount;
    this.bar = el(this.root, 'div', { class: 'life-bar' });
    this.back = el(
      this.bar,
      'button',
      { type: 'button', 'aria-label': 'One snapshot back', title: 'One snapshot back' },
      '◀',
    );
    this.play = el(this.bar, 'button', { type: 'button', title: 'Play the run from its first snapshot' }, 'play');
    this.ahead = el(
      this.bar,
      'button',
      { type: 'button', 'aria-label': 'One snapshot on', title: 'One snapshot on' },
      '▶',
    );
    this.track = el(this.bar, 'input', {
      type: 'range',
      min: '0',
      max: '0',
      step: '1',
      'aria-label': 'Moment of training',
      class: 'life-track',
    });
    this.follow = el(
      this.bar,
      'button',
      { type: 'button', title: 'Always show the newest snapshot' },
      'follow the newest',
    );
    this.where = el(this.root, 'div', { class: 'life-where vv-muted' });
    this.grid = el(this.root, 'div', { class: 'life-grid' });
    this.tip = tooltip(this.root);
    this.say = live(this.root);
    this.state = { index: 0, follow: true, playing: 0, run: null };
    this.now = null;
    this.cards = [];
    this.play.onclick = () => {
      if (this.state.playing) {
        this.stop();
        this.settle();
        return;
      }
      this.state.follow = false;
      this.go(this.state.index >= this.last() ? 0 : this.state.index);
      this.play.textContent = 'pause';
      this.state.playing = setInterval(
        () => {
          if (this.state.index >= this.last()) {
            this.stop();
            this.settle();
            return;
          }
          this.go(this.state.index + 1);
        },
        reducedMotion() ? 3 * FRAME_MS : FRAME_MS,
      );
    };
    this.back.onclick = () => this.by(-1);
    this.ahead.onclick = () => this.by(1);
    this.track.oninput = () => {
      this.stop();
      this.state.follow = false;
      this.go(Number(this.track.value));
    };
    this.track.onchange = () => this.settle();
    this.follow.onclick = () => {
      this.stop();
      this.state.follow = !this.state.follow;
      if (this.state.follow) this.go(this.last());
      else this.draw();
      this.settle();
    };
    this.onUnmount(listen('moment', this.root, (news) => this.onMoment(news)));
    this.onUnmount(() => this.stop());
  }

  steps() {
    return this.now.header.steps;
  }

  last() {
    return this.steps().length - 1;
  }

  go(index, { silent = false } = {}) {
    this.state.index = Math.min(Math.max(index, 0), this.last());
    this.draw();
    if (!silent) {
      const step = this.steps()[this.state.index];
      tell('moment', this.root, { run: this.now.header.run, step });
    }
  }

  /** What the visitor settled on travels to the server: links and lens pages use it. */
  settle() {
    return this.send('moment', {
      run: this.now.header.run,
      step: this.steps()[this.state.index],
      follow: this.state.follow,
    });
  }

  stop() {
    clearInterval(this.state.playing);
    this.state.playing = 0;
    this.play.textContent = 'play';
  }

  by(n) {
    this.stop();
    this.state.follow = false;
    this.go(this.state.index + n);
    this.settle();
  }

  onMoment(news) {
    if (!this.now || news.run !== this.now.header.run) return;
    this.stop();
    this.state.follow = false;
    const all = this.steps();
    let best = 0;
    all.forEach((step, i) => {
      if (Math.abs(step - news.step) < Math.abs(all[best] - news.step)) best = i;
    });
    this.go(best, { silent: true });
  }

  // ---- the pictures
  build() {
    const names = this.now.header.pictures.map((p) => p.name).join();
    if (names === this.grid.dataset.names) return;
    this.grid.dataset.names = names;
    this.grid.replaceChildren();
    this.cards = this.now.header.pictures.map((p, i) => {
      const card = el(this.grid, 'figure', { class: `life-card ${p.wide ? 'life-wide' : ''}` });
      const head = el(card, 'figcaption', { class: 'life-head' });
      el(head, 'span', { class: 'life-title' }, p.title);
      if (p.page) {
        const open = el(
          head,
          'button',
          { type: 'button', class: 'life-open', title: `Open this run at this step in ${p.opens}` },
          'open',
        );
        open.onclick = () => this.trigger('open', { page: p.page, step: this.steps()[this.state.index] });
      }
      const map = canvas(card, { role: 'img' });
      const note = el(card, 'div', { class: 'life-note vv-muted' });
      map.node.onpointermove = (event) => this.hover(i, event);
      map.node.onpointerleave = () => this.tip.hide();
      return { map, note };
    });
  }

  hover(i, event) {
    const p = this.now.header.pictures[i];
    const cell = this.cellAt(i, event.offsetX, event.offsetY);
    if (!cell) {
      this.tip.hide();
      return;
    }
    const { shape, data } = this.now.arrays[p.name];
    const [, R, C, h, w] = shape;
    const at = (((this.state.index * R + cell.R) * C + cell.C) * h + cell.y) * w + cell.x;
    const parts = [];
    if (p.rows) parts.push(p.rows[cell.R]);
    if (p.cols) parts.push(p.cols[cell.C]);
    if (p.kind === 'rgb') parts.push(p.tiles?.[this.state.index]?.[cell.R * C + cell.C] ?? '');
    else if (p.names)
      parts.push(
        `${p.names[cell.y]} read as ${p.names[cell.x]}: ${Math.round(p.lo + ((p.hi - p.lo) * data[at]) / 255)} %`,
      );
    else {
      if (p.tile) parts.push(`${p.tile} (${cell.R}, ${cell.C})`);
      parts.push(
        `row ${cell.y}, column ${cell.x}: ${(p.lo + ((p.hi - p.lo) * data[at]) / 255).toFixed(2)}${p.unit ? ` ${p.unit}` : ''}`,
      );
    }
    const node = this.cards[i].map.node;
    this.tip.show(node.offsetLeft + event.offsetX, node.offsetTop + event.offsetY, parts.filter(Boolean).join('\n'));
  }

  short(p) {
    return p.names.every((name) => name.length <= 3);
  }

  named(p) {
    return this.short(p) ? 22 : 0;
  }

  geometry(i) {
    const p = this.now.header.pictures[i];
    const [, R, C, h, w] = this.now.arrays[p.name].shape;
    const width = this.cards[i].width;
    const left = p.rows ? 30 : p.names ? this.named(p) : 0;
    const top = p.cols || p.names ? 18 : 0;
    const scale = p.kind === 'rgb' ? 0 : 24;
    const gutter = R * C > 1 ? (p.kind === 'rgb' || p.rows || R * C <= 24 ? GUTTER : 1) : 0;
    const side = (width - left - gutter * (C - 1)) / C;
    const tall = (side * h) / w;
    const label = p.kind === 'rgb' && p.tiles ? 18 : 0;
    const bottom = top + R * (tall + label) + gutter * (R - 1);
    return { p, R, C, h, w, left, top, gutter, side, tall, label, bottom, height: bottom + scale };
  }

  cellAt(i, px, py) {
    const g = this.geometry(i);
    const c = (px - g.left) / (g.side + g.gutter);
    const r = (py - g.top) / (g.tall + g.label + g.gutter);
    const C = Math.floor(c);
    const R = Math.floor(r);
    if (px < g.left || py < g.top || C >= g.C || R >= g.R) return null;
    const x = Math.floor(((c - C) * (g.side + g.gutter) * g.w) / g.side);
    const y = Math.floor(((r - R) * (g.tall + g.label + g.gutter) * g.h) / g.tall);
    return x < g.w && y < g.h ? { R, C, x, y } : null;
  }

  drawCard(i) {
    const card = this.cards[i];
    card.width = Math.max(80, Math.floor(card.map.node.parentElement.clientWidth));
    if (this.now.header.pictures[i].kind === 'dots') {
      this.drawDots(card, this.now.header.pictures[i]);
      return;
    }
    const g = this.geometry(i);
    const { p, colors = this.now.colors } = g;
    const ctx = card.map.size(card.width, g.height);
    const { data } = this.now.arrays[p.name];
    const frame = this.state.index * g.R * g.C * g.h * g.w;
    const channels = p.kind === 'rgb' ? 3 : 1;
    const base = p.kind === 'overlay' ? picture(this.now.arrays[p.base]) : null;
    const table = p.kind === 'overlay' ? accentLut(colors.query) : TABLES[p.ramp];
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'middle';
    for (let R = 0; R < g.R; R++)
      for (let C = 0; C < g.C; C++) {
        const x = g.left + C * (g.side + g.gutter);
        const y = g.top + R * (g.tall + g.label + g.gutter);
        const start = channels * (frame + (R * g.C + C) * g.h * g.w);
        if (channels === 3)
          blit(
            ctx,
            picture({ data: data.subarray(start, start + 3 * g.h * g.w), shape: [g.h, g.w, 3] }),
            x,
            y,
            g.side,
            g.tall,
          );
        else {
          if (base) {
            ctx.globalAlpha = 0.75;
            blit(ctx, base, x, y, g.side, g.tall);
            ctx.globalAlpha = 1;
          }
          blit(ctx, heat(data, g.h, g.w, table, 0, 255, start), x, y, g.side, g.tall);
        }
        if (g.label) {
          ctx.textAlign = 'center';
          ctx.fillText(p.tiles[this.state.index]?.[R * g.C + C] ?? '', x + g.side / 2, y + g.tall + 9, g.side);
        }
      }
    if (p.rows) {
      ctx.textAlign = 'left';
      p.rows.forEach((name, R) => ctx.fillText(name, 0, g.top + R * (g.tall + g.gutter) + g.tall / 2));
    }
    if (p.cols) {
      ctx.textAlign = 'center';
      p.cols.forEach((name, C) => ctx.fillText(name, g.left + C * (g.side + g.gutter) + g.side / 2, 8, g.side));
    }
    if (p.names) {
      ctx.textAlign = 'left';
      ctx.fillText('true ↓  read as →', 0, 8);
      if (this.short(p)) p.names.forEach((name, r) => ctx.fillText(name, 4, g.top + ((r + 0.5) * g.tall) / g.h));
    }
    if (p.kind !== 'rgb') this.drawScale(ctx, g, table);
    if (p.mark) {
      // the pinned query, on every map
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 1.5;
      for (let R = 0; R < g.R; R++)
        for (let C = 0; C < g.C; C++)
          ctx.strokeRect(
            g.left + C * (g.side + g.gutter) + (p.mark[1] * g.side) / g.w,
            g.top + R * (g.tall + g.gutter) + (p.mark[0] * g.tall) / g.h,
            g.side / g.w,
            g.tall / g.h,
          );
    }
  }

  /** The one scale of all maps of a picture, at all steps. */
  drawScale(ctx, g, table) {
    const y = g.bottom + 14;
    const unit = g.p.names ? ' %' : '';
    const lo = `${g.p.lo}`;
    const hi = `${Number(g.p.hi.toPrecision(2))}${unit}`;
    const width = 96;
    const x = g.left + ctx.measureText(lo).width + 6;
    ctx.textAlign = 'left';
    ctx.fillStyle = this.now.colors.muted;
    ctx.fillText(lo, g.left, y);
    ctx.fillText(hi, x + width + 6, y);
    blit(ctx, heat(RAMP, 1, 256, table, 0, 255), x, y - 4, width, 8);
  }

  /** Values (layers x heads) as dots over the layers: one colour per head. */
  drawDots(card, p) {
    const {
      data,
      shape: [, L, H],
    } = this.now.arrays[p.name];
    const { colors } = this.now;
    const height = Math.min(card.width * 0.8, 240);
    const ctx = card.map.size(card.width, height);
    const left = 30;
    const bottom = 34;
    const top = 10;
    const fx = (l) => left + ((l + 0.5) * (card.width - left - 4)) / L;
    const fy = (v) => top + (height - top - bottom) * (1 - v);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'middle';
    for (const part of [0, 0.5, 1]) {
      const y = Math.round(fy(part)) + 0.5;
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(card.width, y);
      ctx.stroke();
      ctx.textAlign = 'right';
      ctx.fillText(`${Number((p.hi * part).toPrecision(2))}`, left - 6, y);
    }
    ctx.textAlign = 'center';
    for (let l = 0; l < L; l++) ctx.fillText(String(l + 1), fx(l), height - bottom + 12);
    ctx.fillText('layer', left + (card.width - left) / 2, height - 8);
    for (let l = 0; l < L; l++)
      for (let h = 0; h < H; h++) {
        ctx.fillStyle = headColor(h, H);
        ctx.beginPath();
        ctx.arc(
          fx(l) + (h - (H - 1) / 2) * Math.min(6, (card.width - left) / L / H / 1.6),
          fy(data[(this.state.index * L + l) * H + h] / 255),
          4,
          0,
          7,
        );
        ctx.fill();
      }
  }

  draw() {
    if (!this.now) return;
    const { header } = this.now;
    const empty = !header.steps.length;
    for (const node of [this.back, this.play, this.ahead, this.track, this.follow]) node.disabled = empty;
    if (empty) {
      this.where.textContent = header.waiting;
      return;
    }
    this.state.index = Math.min(this.state.index, this.last());
    stood.set(header.run, { step: header.steps[this.state.index], follow: this.state.follow });
    this.track.max = String(this.last());
    this.track.value = String(this.state.index);
    this.follow.setAttribute('aria-pressed', String(this.state.follow));
    this.back.disabled = this.state.index === 0;
    this.ahead.disabled = this.state.index === this.last();
    const words = `step ${counted(header.steps[this.state.index])} · ${header.moments[this.state.index]}`;
    this.where.textContent = `${words} · snapshot ${this.state.index + 1} of ${header.steps.length}`;
    this.track.setAttribute('aria-valuetext', words);
    this.now.header.pictures.forEach((p, i) => {
      if (p.kind === 'none') {
        this.cards[i].map.node.hidden = true;
        this.cards[i].note.textContent = p.reason;
        return;
      }
      this.cards[i].map.node.hidden = false;
      this.drawCard(i);
      const caption = p.captions?.[this.state.index] ?? '';
      this.cards[i].note.textContent = caption;
      this.cards[i].map.node.setAttribute('aria-label', `${p.title} at ${words}. ${caption}`);
    });
  }

  update(message) {
    const fresh = this.now?.header !== message.header;
    const before = this.now?.header.steps?.[this.state.index];
    this.now = message;
    if (fresh) {
      this.build();
      if (this.state.run !== this.now.header.run) {
        const kept = stood.get(this.now.header.run);
        const at = this.now.header.moment ?? (kept?.follow === false ? kept.step : null);
        this.state.run = this.now.header.run;
        this.state.follow = at === null;
        this.stop();
        this.state.index = this.state.follow ? this.last() : Math.max(0, this.steps().indexOf(at));
      } else if (this.state.follow) this.state.index = this.last();
      else this.state.index = Math.max(0, this.steps().indexOf(before));
      this.state.index = Math.max(0, this.state.index);
    }
    this.draw();
    if (fresh && this.state.follow && this.steps().length)
      tell('moment', this.root, { run: this.now.header.run, step: null });
  }
}

export default function life(context) {
  const view = new Life(context);
  return (message) => view.update(message);
}
