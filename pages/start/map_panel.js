// Show an opened part under its band: its operations step by step, and one level deeper its tables.

import { button, el } from '../../vitviz/browser/kit/dom.js';
import { buildTables } from './map_numbers.js';
import { buildSteps } from './map_steps.js';
import { stationWords } from './map_words.js';

export class Panel {
  constructor({ view, trigger, close, say }) {
    Object.assign(this, {
      view,
      trigger,
      closed: close,
      say,
      id: '',
      deep: false,
      message: null,
      query: {},
      dismissed: '',
    });
    this.node = document.createElement('section');
    this.node.className = 'mp-panel';
    this.node.tabIndex = -1;
  }

  get part() {
    return this.view.model.byId.get(this.id);
  }

  /** Open a part; `ask`: request it from the server. */
  open(id, byKey, ask) {
    Object.assign(this, { id, deep: false, query: {}, dismissed: '' });
    if (this.message?.header.part !== id) this.message = null;
    if (this.part.opens && ask) this.ask({});
    this.place(this.view.bands);
    this.draw();
    if (byKey) this.node.focus({ preventScroll: true });
    this.node.scrollIntoView({ block: 'nearest', behavior: 'auto' });
  }

  /** Request the part from the server, with the selected head, class or channel. */
  ask(more) {
    this.query = { ...this.query, ...more };
    this.trigger('open', JSON.stringify({ part: this.id, ...this.query }));
  }

  close() {
    if (this.part?.opens) this.trigger('open', '');
    Object.assign(this, { dismissed: this.id, id: '', deep: false });
    this.node.remove();
  }

  deeper() {
    if (!this.message?.header.tables.length) return;
    this.deep = true;
    this.draw();
    this.node.querySelector('.mp-tables')?.focus({ preventScroll: true });
  }

  /** Return to the operations; false if they are shown already. */
  shallower() {
    if (!this.deep) return false;
    this.deep = false;
    this.draw();
    this.node.focus({ preventScroll: true });
    return true;
  }

  /** Show the server's message; a part that a permalink opens is opened. */
  take(message) {
    if (message && message.header.map !== this.view.message?.header.map) return; // of another map
    const part = message?.header.part ?? '';
    if (!part) this.dismissed = '';
    if (!part || !this.view.model?.byId.has(part)) return;
    this.message = message;
    if (part === this.id) this.draw();
    else if (!this.id && part !== this.dismissed) this.view.open(part, false, false);
  }

  /** Show a new map: the panel stays open if the model has its part. */
  refresh(message) {
    if (this.id && !this.part) {
      this.node.remove();
      this.id = '';
    }
    this.take(message);
    if (this.id) this.draw();
  }

  place(bands) {
    if (!this.id) return;
    const box = this.view.plan.boxes[this.id];
    const band = bands[box?.band];
    if (!band) return;
    band.after(this.node);
    this.node.style.setProperty('--mp-caret', `${box.tile.x + box.tile.w / 2}px`);
  }

  draw() {
    const { part } = this;
    const inside = this.node.contains(this.node.getRootNode().activeElement);
    this.node.replaceChildren();
    this.node.setAttribute('aria-label', `${part.title}, details`);
    this.head(part);
    const { model } = this.view;
    const words = part.kind === 'block' ? stationWords(model, part, model.header.pin) : part.words;
    el(this.node, 'p', { class: 'mp-lead' }, words);
    const ready = this.message?.header.part === this.id;
    if (ready) this.body(this.message);
    else if (part.opens) el(this.node, 'p', { class: 'vv-muted mp-waiting', role: 'status' }, 'Computing this part …');
    if (inside) this.node.focus({ preventScroll: true });
  }

  head(part) {
    const head = el(this.node, 'div', { class: 'mp-head' });
    el(head, 'h2', {}, part.title);
    const named = this.message?.header.part === this.id ? this.message.header.token_name : '';
    if (named) el(head, 'span', { class: 'vv-muted' }, named);
    const acts = el(head, 'div', { class: 'mp-acts' });
    if (part.link) this.link(acts, part.link);
    button(acts, '✕', () => this.closed(true), { 'aria-label': `Close ${part.title}`, class: 'mp-close' });
  }

  link(parent, link) {
    const node = el(parent, 'a', { href: link.href, class: 'mp-link' }, `${link.label} →`);
    node.onclick = (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      this.trigger('go', this.id);
    };
  }

  classes(chosen) {
    const { names, index } = this.view.model.header.classes;
    const row = el(this.node, 'div', { class: 'mp-choice', role: 'group', 'aria-label': 'Class' });
    names.forEach((name, i) => {
      button(row, name, () => this.ask({ class: index[i] }), { 'aria-pressed': String(index[i] === chosen) });
    });
  }

  body(message) {
    const { tables } = message.header;
    if (this.deep) {
      button(this.node, '← Back to the operations', () => this.shallower(), { class: 'mp-level' });
      return buildTables(this.node, message, this.say);
    }
    if (this.part.kind === 'head') this.classes(message.header.class);
    const steps = el(this.node, 'div', { class: 'mp-steps' });
    buildSteps(steps, message, this.view.view(), {
      ask: (more) => this.ask(more),
      deeper: () => this.deeper(),
      say: this.say,
    });
    if (tables.length) button(this.node, 'Show tables', () => this.deeper(), { class: 'mp-level' });
  }
}
