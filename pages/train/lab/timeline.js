// Timeline of a run's snapshots: shows their images from one flip-book without asking the server.

import { player } from '../../../vitviz/browser/kit/player.js';
import { listen, tell } from '../../../vitviz/browser/kit/bus.js';
import { button, canvas, disable, el, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { animate, mix, reducedMotion } from '../../../vitviz/browser/kit/motion.js';
import { picture } from '../../../vitviz/browser/kit/pixels.js';
import { counted } from '../../../vitviz/browser/kit/text.js';
import { bound } from './flip_book.js';
import { cellAt, drawCard, topOf } from './timeline_draw.js';
import { Mistakes } from './mistakes.js';

const FRAME_MS = 220; // with reduced motion three times as long
const FLOW_MS = 200; // from snapshot to snapshot
const LEAST_FLOW_MS = 4500; // of a recording with few snapshots
const RETRY_MS = 4000;

// Last position per run; it outlives the view, because the page is redrawn when a run ends.
const positions = new Map();
// Recordings that have already been played automatically.
const autoplayed = new Set();

/** Return the class of an image's card: the map of attention is the main one, tall where its layers are many. */
function kindOf(p) {
  if (p.kind !== 'overlay') return '';
  const [layers, heads] = p.shape.slice(1);
  return layers > 1.5 * heads ? 'timeline-tall' : layers > 0.75 * heads ? 'timeline-main' : 'timeline-wide';
}

export default class Timeline {
  constructor({ root, send, trigger, onUnmount }) {
    Object.assign(this, { root, send, trigger, now: null, cards: [], stopFlow() {} });
    // The place is on the way between two snapshots while it plays; the index is the nearest one.
    this.state = { index: 0, place: 0, follow: true, run: null };
    this.bar = el(root, 'div', { class: 'timeline-bar' });
    this.buildBar();
    this.where = el(root, 'div', { class: 'timeline-where vv-muted' });
    this.grid = el(root, 'div', { class: 'timeline-grid' });
    this.tip = tooltip(root);
    onUnmount(listen('moment', root, (news) => this.onMoment(news)));
    onUnmount(() => {
      this.stop();
      this.answered();
    });
  }

  buildBar() {
    const labelled = (text) => ({ 'aria-label': text, title: text });
    this.back = button(this.bar, '◀', () => this.by(-1), labelled('Previous snapshot'));
    this.play = button(this.bar, '', null, { title: 'Play the run from its first snapshot' });
    this.ahead = button(this.bar, '▶', () => this.by(1), labelled('Next snapshot'));
    const range = { type: 'range', min: '0', max: '0', step: '1', 'aria-label': 'Training step' };
    this.track = el(this.bar, 'input', { ...range, class: 'timeline-track' });
    this.track.oninput = () => this.leave(() => this.go(Number(this.track.value)));
    this.track.onchange = () => this.settle();
    const followTitle = { title: 'Always show the newest snapshot' };
    this.follow = button(this.bar, 'follow the newest', () => this.switchFollow(), followTitle);
    this.player = player(this.play, {
      at: () => this.state.place,
      last: () => this.last(),
      dwell: FRAME_MS,
      flow: true,
      file: 'training_snapshots',
      began: () => this.leave(() => this.go(this.state.index), { playing: true }),
      rewind: () => this.go(0),
      step: (to, done) => {
        if (!reducedMotion()) return this.flow(done);
        this.leave(() => this.go(to), { playing: true });
        done();
      },
      ended: () => this.ended(),
    });
  }

  /** Stop following the newest snapshot and move to another one. */
  leave(act, { playing = false } = {}) {
    if (!playing) this.stop();
    this.state.follow = false;
    act();
  }

  /** Play a recording automatically, without notifying the server. */
  autoplay() {
    this.state.follow = false;
    this.go(0);
    this.autoplaying = true;
    this.player.toggle();
  }

  /** Move to the last snapshot at an even speed. */
  flow(done) {
    const [from, last] = [this.state.place, this.last()];
    const ms = this.now.header.plays ? Math.max(FLOW_MS, LEAST_FLOW_MS / last) : FLOW_MS;
    const frame = (t) => {
      const index = Math.round(mix(from, last, t));
      if (index !== this.state.index) this.go(index);
      this.state.place = mix(from, last, t);
      this.draw();
    };
    this.stopFlow = animate((last - from) * ms, frame, done, (t) => t);
  }

  ended() {
    this.stopFlow();
    this.go(this.state.index);
    if (!this.autoplaying || this.state.index < this.last()) this.settle();
    this.autoplaying = false;
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
    this.state.index = this.state.place = Math.min(Math.max(index, 0), this.last());
    this.draw();
    if (!silent) {
      const step = this.steps()[this.state.index];
      tell('moment', this.root, { run: this.now.header.run, step });
    }
  }

  /** Send the selected snapshot to the server, for links and lens pages. */
  settle() {
    return this.send('moment', {
      run: this.now.header.run,
      step: this.steps()[this.state.index],
      follow: this.state.follow,
    });
  }

  stop() {
    this.autoplaying = false;
    this.player.stop();
    this.stopFlow();
  }

  by(n) {
    this.leave(() => this.go(this.state.index + n));
    this.settle();
  }

  onMoment(news) {
    if (!this.now || news.run !== this.now.header.run) return;
    this.stop();
    this.state.follow = false;
    this.go(this.nearest(news.step), { silent: true });
  }

  /** The index of the snapshot nearest to a step. */
  nearest(step) {
    const distances = this.steps().map((other) => Math.abs(other - step));
    return distances.indexOf(Math.min(...distances));
  }

  // ---- images
  build() {
    const names = this.now.header.pictures.map((p) => `${p.name} ${p.kind}`).join();
    if (names === this.grid.dataset.names) return;
    this.grid.dataset.names = names;
    this.grid.replaceChildren();
    this.cards = this.now.header.pictures.map((p, i) => {
      if (p.kind === 'mistakes')
        return new Mistakes(el(this.grid, 'figure', { class: 'timeline-card timeline-row' }), p.title);
      const card = el(this.grid, 'figure', { class: `timeline-card ${kindOf(p)}` });
      const head = el(card, 'figcaption', { class: 'timeline-head' });
      el(head, 'span', { class: 'timeline-title' }, p.title);
      if (p.page) {
        const open = () => this.trigger('open', { page: p.page, step: this.steps()[this.state.index] });
        const title = `Open this run at this step on page '${p.opens}'`;
        button(head, 'open', open, { class: 'timeline-open vv-controls', title });
      }
      const map = canvas(card, { role: 'img' });
      const note = el(card, 'div', { class: 'timeline-note vv-muted' });
      map.node.onpointermove = (event) => this.hover(i, event);
      map.node.onpointerleave = () => this.tip.hide();
      return { map, note };
    });
  }

  hover(i, event) {
    const p = this.now.header.pictures[i];
    if (p.kind === 'none') return;
    const cell = cellAt(this, i, event.offsetX, event.offsetY);
    if (!cell) return this.tip.hide();
    const { shape, data } = this.now.arrays[p.name];
    const [, R, C, h, w] = shape;
    const at = (((this.state.index * R + cell.R) * C + cell.C) * h + cell.y) * w + cell.x;
    const parts = [];
    if (p.rows) parts.push(p.rows[cell.R]);
    if (p.cols) parts.push(p.cols[cell.C]);
    if (p.kind === 'rgb') parts.push(p.tiles?.[this.state.index]?.[cell.R * C + cell.C] ?? '');
    else if (p.names) parts.push(`${p.names[cell.y]} predicted as ${p.names[cell.x]}: ${data[at]} %`);
    else {
      if (p.tile) parts.push(`${p.tile} (${cell.R + 1}, ${cell.C + 1})`);
      parts.push(
        `row ${cell.y + 1}, column ${cell.x + 1}: ≈ ${(p.lo + ((topOf(this, p) - p.lo) * data[at]) / 255).toFixed(2)}`,
      );
    }
    this.tip.showOver(this.cards[i].map.node, event.offsetX, event.offsetY, parts.filter(Boolean).join('\n'));
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
    for (const node of [this.back, this.play, this.ahead, this.track, this.follow])
      disable(node, empty ? header.waiting : '');
    if (empty) {
      this.where.textContent = header.waiting;
      return;
    }
    if (this.state.place > this.last()) this.state.index = this.state.place = this.last();
    positions.set(header.run, { step: header.steps[this.state.index], follow: this.state.follow });
    this.track.max = String(this.last());
    this.track.value = String(this.state.index);
    this.follow.hidden = header.plays;
    this.follow.setAttribute('aria-pressed', String(this.state.follow));
    disable(this.back, this.state.index === 0 ? 'No snapshot before' : '');
    disable(this.ahead, this.state.index === this.last() ? 'No further snapshot' : '');
    const [low, high] = [Math.floor(this.state.place), Math.ceil(this.state.place)];
    const step = Math.round(mix(header.steps[low], header.steps[high], this.state.place - low));
    const at = low === high ? ` · ${header.moments[this.state.index]}` : '';
    const words = `step ${counted(step)}${at}`;
    this.where.textContent = `${words} · snapshot ${this.state.index + 1} of ${header.steps.length}`;
    this.track.setAttribute('aria-valuetext', words);
    this.now.header.pictures.forEach((p, i) => {
      const card = this.cards[i];
      if (p.kind === 'mistakes') return card.draw(p, this.now, this.state.index);
      const caption = p.captions[this.state.index] ?? '';
      card.map.node.hidden = p.kind === 'none';
      card.note.textContent = p.kind === 'none' ? p.reason : caption;
      if (p.kind === 'none') return;
      drawCard(this, i);
      card.map.node.setAttribute('aria-label', `${p.title} at ${words}. ${caption}`);
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
    if (fresh && book && this.mayAutoplay()) this.autoplay();
    if (fresh && book && this.state.follow && this.steps().length)
      tell('moment', this.root, { run: this.now.header.run, step: null });
  }

  /** Return true for a recording that was not played yet, unless the user prefers reduced motion. */
  mayAutoplay() {
    const { header } = this.now;
    const fresh = header.plays && !autoplayed.has(header.run) && this.state.follow;
    if (fresh) autoplayed.add(header.run);
    return fresh && !reducedMotion();
  }

  /** Request all leaves after a lost message, repeatedly, because the response may be lost as well. */
  ask({ shelf }) {
    if (this.asking) return;
    this.trigger('again', shelf);
    this.asking = setTimeout(() => {
      this.asking = 0;
      this.ask({ shelf });
    }, RETRY_MS);
  }

  /** Stop requesting: the book is complete, or the view is closed. */
  answered() {
    clearTimeout(this.asking);
    this.asking = 0;
  }

  /** Load a new book; keep the step, follow the newest, or restore the run's last position. */
  take(before) {
    const { header, arrays } = this.now;
    this.player.dwell = reducedMotion() ? 3 * FRAME_MS : FRAME_MS;
    this.build();
    this.bases = {};
    for (const { kind, base } of header.pictures) if (kind === 'overlay') this.bases[base] = picture(arrays[base]);
    let at = this.state.follow ? null : before;
    if (this.state.run !== header.run) {
      const last = positions.get(header.run);
      at = header.moment ?? (last?.follow === false ? last.step : null);
      this.state.run = header.run;
      this.state.follow = at === null;
      this.stop();
    }
    this.state.index = this.state.place = Math.max(0, at === null ? this.last() : this.nearest(at));
  }
}
