// A run's life: a timeline of its snapshots, and pictures that are redrawn from one flip-book without the server.

import { player } from '../../views/kit/player.js';
import { listen, tell } from '../../views/kit/bus.js';
import { button, canvas, el, tooltip } from '../../views/kit/dom.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { picture } from '../../views/kit/pixels.js';
import { counted } from '../../views/kit/words.js';
import { bound } from './life_book.js';
import { cellAt, drawCard, topOf } from './life_draw.js';
import { Mistakes } from './mistakes.js';

const FRAME_MS = 220;
const PATIENCE_MS = 4000;
const FILM_MS = 600; // a recording's: few snapshots, of which each is to be seen

// Where each run's timeline stood: a page that is drawn anew (a run has ended) must not lose it.
const stood = new Map();
// Recordings that have begun by themselves: once is enough.
const filmed = new Set();

class Life {
  constructor({ root, send, trigger, onUnmount }) {
    Object.assign(this, { root, send, trigger, now: null, cards: [] });
    this.state = { index: 0, follow: true, run: null };
    this.bar = el(root, 'div', { class: 'life-bar' });
    this.buildBar();
    this.where = el(root, 'div', { class: 'life-where vv-muted' });
    this.grid = el(root, 'div', { class: 'life-grid' });
    this.tip = tooltip(root);
    onUnmount(listen('moment', root, (news) => this.onMoment(news)));
    onUnmount(() => {
      this.stop();
      this.answered();
    });
  }

  buildBar() {
    const one = (text) => ({ 'aria-label': text, title: text });
    this.back = button(this.bar, '◀', () => this.by(-1), one('One snapshot back'));
    this.play = button(this.bar, '', null, { title: 'Play the run from its first snapshot' });
    this.ahead = button(this.bar, '▶', () => this.by(1), one('One snapshot on'));
    const range = { type: 'range', min: '0', max: '0', step: '1', 'aria-label': 'Moment of training' };
    this.track = el(this.bar, 'input', { ...range, class: 'life-track' });
    this.track.oninput = () => this.leave(() => this.go(Number(this.track.value)));
    this.track.onchange = () => this.settle();
    const always = { title: 'Always show the newest snapshot' };
    this.follow = button(this.bar, 'follow the newest', () => this.switchFollow(), always);
    this.player = player(this.play, {
      at: () => this.state.index,
      last: () => this.last(),
      dwell: FRAME_MS,
      faces: { play: ['play'], pause: ['pause'] },
      began: () => this.leave(() => this.go(this.state.index), { playing: true }),
      rewind: () => this.go(0),
      step: (to, done) => {
        this.leave(() => this.go(to), { playing: true });
        done();
      },
      ended: () => this.ended(),
    });
  }

  /** To a moment of the visitor's own: the newest is no longer followed. */
  leave(act, { playing = false } = {}) {
    if (!playing) this.stop();
    this.state.follow = false;
    act();
  }

  /** A recording begins by itself, once; what nobody has asked for tells the server nothing. */
  playFilm() {
    this.state.follow = false;
    this.go(0);
    this.byItself = true;
    this.player.toggle();
  }

  ended() {
    if (!this.byItself || this.state.index < this.last()) this.settle();
    this.byItself = false;
  }

  switchFollow() {
    this.stop();
    this.state.follow = !this.state.follow;
    if (this.state.follow) this.go(this.last());
    else this.draw();
    this.settle();
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
    this.byItself = false;
    this.player.stop();
  }

  by(n) {
    this.leave(() => this.go(this.state.index + n));
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
    const names = this.now.header.pictures.map((p) => `${p.name} ${p.kind}`).join();
    if (names === this.grid.dataset.names) return;
    this.grid.dataset.names = names;
    this.grid.replaceChildren();
    this.cards = this.now.header.pictures.map((p, i) => {
      if (p.kind === 'mistakes') return new Mistakes(el(this.grid, 'figure', { class: 'life-card life-row' }), p.title);
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
    if (p.kind === 'none') return;
    const cell = cellAt(this, i, event.offsetX, event.offsetY);
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
        `row ${cell.y}, column ${cell.x}: ${(p.lo + ((topOf(this, p) - p.lo) * data[at]) / 255).toFixed(2)}${p.unit ? ` ${p.unit}` : ''}`,
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
    this.follow.hidden = header.plays;
    this.follow.setAttribute('aria-pressed', String(this.state.follow));
    this.back.disabled = this.state.index === 0;
    this.ahead.disabled = this.state.index === this.last();
    const words = `step ${counted(header.steps[this.state.index])} · ${header.moments[this.state.index]}`;
    this.where.textContent = `${words} · snapshot ${this.state.index + 1} of ${header.steps.length}`;
    this.track.setAttribute('aria-valuetext', words);
    this.now.header.pictures.forEach((p, i) => {
      if (p.kind === 'mistakes') {
        this.cards[i].draw(p, this.now, this.state.index);
        return;
      }
      if (p.kind === 'none') {
        this.cards[i].map.node.hidden = true;
        this.cards[i].note.textContent = p.reason;
        return;
      }
      this.cards[i].map.node.hidden = false;
      drawCard(this, i);
      const caption = p.captions?.[this.state.index] ?? '';
      this.cards[i].note.textContent = caption;
      this.cards[i].map.node.setAttribute('aria-label', `${p.title} at ${words}. ${caption}`);
    });
  }

  update(message) {
    const { header, colors, width } = message;
    const fresh = this.seen !== header;
    const before = this.now?.header.steps?.[this.state.index];
    this.seen = header;
    const book = fresh ? bound(message) : this.now;
    if (book) this.answered();
    else this.ask(header);
    if (!book && !this.now) return;
    this.now = { ...(book ?? this.now), colors, width };
    if (fresh && book) this.take(before);
    this.draw();
    if (fresh && book && this.mayPlay()) this.playFilm();
    if (fresh && book && this.state.follow && this.steps().length)
      tell('moment', this.root, { run: this.now.header.run, step: null });
  }

  /** Whether a recording stands here that nobody has moved, and that moving pictures are welcome. */
  mayPlay() {
    const { header } = this.now;
    const fresh = header.plays && !filmed.has(header.run) && this.state.follow;
    if (fresh) filmed.add(header.run);
    return fresh && !reducedMotion();
  }

  /**
   * A message was lost: all leaves are asked for, and asked for again until they come, for the answer may be lost as
   * well; meanwhile the last whole book is shown.
   */
  ask({ shelf }) {
    if (this.asking) return;
    this.trigger('again', shelf);
    this.asking = setTimeout(() => {
      this.asking = 0;
      this.ask({ shelf });
    }, PATIENCE_MS);
  }

  /** A whole book has come, or nobody looks any more. */
  answered() {
    clearTimeout(this.asking);
    this.asking = 0;
  }

  /** News of a run: it stays at its step, follows the newest, or stands where this run's timeline stood. */
  take(before) {
    const { header, arrays } = this.now;
    this.player.dwell = header.plays ? FILM_MS : reducedMotion() ? 3 * FRAME_MS : FRAME_MS;
    this.build();
    this.bases = {};
    for (const { kind, base } of header.pictures) if (kind === 'overlay') this.bases[base] = picture(arrays[base]);
    let at = this.state.follow ? null : before;
    if (this.state.run !== header.run) {
      const kept = stood.get(header.run);
      at = header.moment ?? (kept?.follow === false ? kept.step : null);
      this.state.run = header.run;
      this.state.follow = at === null;
      this.stop();
    }
    this.state.index = Math.max(0, at === null ? this.last() : this.steps().indexOf(at));
  }
}

export default function life(context) {
  const view = new Life(context);
  return (message) => view.update(message);
}
