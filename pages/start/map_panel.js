// Enlarge a part in place: its picture, its operations step by step, and one level deeper its tables.

import { button, canvas, disable, el, save } from '../../vitviz/browser/kit/dom.js';
import { reducedMotion } from '../../vitviz/browser/kit/motion.js';
import { MINUS, brief } from '../../vitviz/browser/kit/text.js';
import { drawArcs, drawKeys, placed, ring } from './map_overlay.js';
import { ServerRecords } from './map_named_records.js';
import { openPart } from './map_open.js';
import { paintPart } from './map_parts.js';
import { buildSteps } from './map_steps.js';
import { stationWords } from './map_words.js';

const LARGE = 280; // px of the picture beside a part's operations
const ALONE = 560; // px of a picture without operations
const ZOOM_MS = 260;

export class Panel {
  constructor({ view, trigger, close, say }) {
    Object.assign(this, { view, trigger, closed: close, say });
    Object.assign(this, {
      id: '',
      deep: false,
      opened: null,
      failure: '',
      query: {},
      dismissed: '',
      confirmed: '',
      runs: 0,
    });
    this.server = new ServerRecords((names) => this.trigger('open', `${this.id} ${names}`));
    this.node = el(null, 'section', { class: 'mp-panel', tabindex: '-1' });
  }

  /** The pin of the opened part's token: the one that the map showed. */
  get pin() {
    const { header, readout } = this.view.model;
    return this.query.token ?? (header.pinned ? header.pin : readout);
  }

  get part() {
    return this.view.model.byId.get(this.id);
  }

  /** Open a part; `ask`: the server learns of it. */
  open(id, ask) {
    Object.assign(this, { id, deep: false, query: {}, dismissed: '' });
    const { journey, pin, model } = this.view;
    if (journey.active) this.query.token = pin;
    if (ask && (model.header.weights || !this.part.opens)) this.trigger('open', id);
    this.compute();
    this.place();
    this.zoom();
    if (ask) this.node.focus({ preventScroll: true });
    if (this.node.getBoundingClientRect().top < 0) this.node.scrollIntoView({ block: 'start', behavior: 'auto' });
  }

  /** Show the part for another head, class or channel. */
  ask(more) {
    this.query = { ...this.query, ...more };
    this.compute();
  }

  /** Draw the open part, now and when its records have come from the engine or the server; the newest call counts. */
  async compute() {
    if (!this.part) return;
    this.draw();
    if (!this.part.opens) return;
    this.runs += 1;
    const { runs: run, id, pin, query, view } = this;
    try {
      const records = await view.pad.live.records(() => this.serverRecords());
      const opened = records && (await openPart(view.model, id, pin, query, records));
      if (run !== this.runs || !opened) return;
      Object.assign(this, { opened, failure: '' });
    } catch (error) {
      if (run !== this.runs) return;
      Object.assign(this, { opened: null, failure: `The numbers of this part are missing: ${error.message}.` });
    }
    this.draw();
  }

  serverRecords() {
    if (this.view.alone) return null;
    this.server.begin(this.view.message);
    return this.server;
  }

  close() {
    this.trigger('open', '');
    Object.assign(this, { dismissed: this.id, id: '', deep: false });
    this.leave();
  }

  leave() {
    this.runs += 1;
    this.server.end();
    this.node.remove();
    this.view.stage.style.minHeight = '';
  }

  deeper() {
    if (!this.ready || !this.opened.tables.length) return;
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

  get ready() {
    return this.opened?.part === this.id;
  }

  /** Take the server's message: records, or the name of a part that a permalink opens. */
  take(message) {
    if (message && message.header.map !== this.view.message?.header.map) return; // of another map
    const part = message?.header.part ?? '';
    const isBack = !part && this.id && this.confirmed === this.id; // Back has led to an address without the part
    this.confirmed = part;
    if (!part) this.dismissed = '';
    if (isBack) this.view.close();
    if (!part || !this.view.model?.byId.has(part)) return;
    if (message.header.names) this.server.take(message);
    if (!this.id && part !== this.dismissed) this.view.open(part, false);
  }

  /** Show a new map: the panel stays open if the model has its part. */
  refresh(message) {
    if (this.id && !this.part) {
      this.leave();
      this.id = '';
    }
    this.take(message);
    this.compute();
  }

  /** Lay the panel over the map. */
  place() {
    if (this.id) this.view.stage.append(this.node);
  }

  /** Grow from the part's place to the whole map. */
  zoom() {
    const { x, y, w, h } = this.view.frameOf(this.id);
    const { offsetWidth: width, offsetHeight: height } = this.node;
    if (reducedMotion() || !width) return;
    const from = `translate(${x}px, ${y}px) scale(${w / width}, ${h / height})`;
    this.node.animate([{ transform: from, opacity: 0.4 }, { transform: 'none' }], {
      duration: ZOOM_MS,
      easing: 'ease-out',
    });
  }

  draw() {
    const { part } = this;
    const { activeElement: focused } = this.node.getRootNode();
    const inside = this.node.contains(focused);
    const zero = inside && focused.matches('.mp-zero');
    this.node.replaceChildren();
    this.node.setAttribute('aria-label', `${part.title}, details`);
    this.head(part);
    const { model } = this.view;
    const words = part.kind === 'block' ? stationWords(model, part, this.pin) : part.words;
    el(this.node, 'p', { class: part.stale && part.kind !== 'block' ? 'mp-lead mp-stale' : 'mp-lead' }, words);
    const main = el(this.node, 'div', { class: 'mp-main' });
    if (!this.deep) this.picture(main, part);
    this.content = el(main, 'div', { class: 'mp-content' });
    if (this.ready) this.body(this.opened);
    else if (part.opens) {
      const inFile = this.view.alone && !model.header.weights;
      const words = inFile ? 'The app shows the numbers of this part.' : 'Computing this part …';
      el(this.content, 'p', { class: 'vv-muted mp-waiting', role: 'status' }, this.failure || words);
    }
    this.view.stage.style.minHeight = `${this.node.offsetHeight}px`;
    const next = (zero && this.node.querySelector('.mp-zero')) || this.node;
    if (inside) next.focus({ preventScroll: true });
  }

  /** Draw the part's tile, enlarged. */
  picture(parent, part) {
    const { tile, lift = 0, ...box } = this.view.plan.boxes[this.id];
    const room = part.opens === false ? Math.min(ALONE, this.view.stage.clientWidth - 42) : LARGE;
    const scale = Math.min(room / Math.max(tile.w, tile.h), 4);
    const large = { x: 0, y: 0, w: Math.round(tile.w * scale), h: Math.round(tile.h * scale) };
    const figure = el(parent, 'figure', { class: 'mp-large' });
    const view = canvas(figure, { 'aria-hidden': 'true' });
    const seen = { ...this.view.view(), pad: null, journeyPin: this.pin };
    paintPart(view, part, { ...box, lift, tile: large }, seen);
    const boxes = { [part.id]: { ...box, lift, tile: { ...large, y: lift } } };
    this.frame(view.ctx, { ...seen, plan: { boxes }, offsets: { [box.band]: 0 } }, part);
    const shows = this.legend(part, seen.journeyPin);
    if (shows) el(figure, 'figcaption', { class: 'vv-muted' }, shows);
  }

  /** Say what an enlarged picture shows if its title does not. */
  legend(part, pin) {
    const { model } = this.view;
    if (part.kind === 'block') return `Attention of ${model.shortName(pin, part)}, mean over heads`;
    if (part.kind === 'head') return 'Weights of each class';
    if (part.kind === 'embed' && model.array(part, 'filters'))
      return `${model.array(part, 'filters').shape[0]} of the filters of E`;
    return part.kind === 'positions' && model.array(part, 'cosine') ? 'Cosine of each position with all others' : '';
  }

  /** Frame the followed token; in a layer, draw its attention instead of the readout's. */
  frame(ctx, view, part) {
    if (part.kind === 'block' && view.model.tokenAt(part, view.journeyPin) >= 0) {
      ctx.clearRect(0, 0, ctx.canvas.width, view.plan.boxes[part.id].lift);
      drawKeys(ctx, view, part, view.journeyPin);
      drawArcs(ctx, view, part, view.journeyPin);
    } else {
      const spot = placed(view, part, view.journeyPin);
      if (spot) ring(ctx, spot);
    }
  }

  head(part) {
    const head = el(this.node, 'div', { class: 'mp-head' });
    el(head, 'h2', {}, part.title);
    const named = this.ready ? this.opened.token_name : '';
    const { model } = this.view;
    // A part without the pinned prefix token shows a patch, which is named then.
    const pinned = model.nameOf(this.pin);
    const patch = named.startsWith('the ') && !pinned.startsWith('[') ? pinned : named;
    if (named) el(head, 'span', { class: 'vv-muted' }, patch);
    const acts = el(head, 'div', { class: 'mp-acts' });
    const { parts } = model;
    for (const [face, step] of [
      ['‹', -1],
      ['›', 1],
    ]) {
      const next = parts[parts.indexOf(part) + step];
      const open = button(acts, face, () => this.view.open(next.id), { class: 'mp-close' });
      open.setAttribute('aria-label', next ? `Open ${next.title}` : 'No further part');
      disable(open, next ? '' : 'No further part');
    }
    if (part.link && !this.view.alone) this.link(acts, part.link);
    button(acts, '✕ Whole map', () => this.closed(true), { 'aria-label': `Close ${part.title}`, class: 'mp-close' });
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
    const row = el(this.content, 'div', { class: 'mp-choice', role: 'group', 'aria-label': 'Class' });
    names.forEach((name, i) => {
      button(row, name, () => this.ask({ class: index[i] }), { 'aria-pressed': String(index[i] === chosen) });
    });
  }

  body(opened) {
    const { tables } = opened;
    if (this.deep) {
      button(this.content, '← Back to the operations', () => this.shallower(), { class: 'mp-level' });
      return buildTables(this.content, tables, this.say);
    }
    if (this.part.kind === 'head') this.classes(opened.class);
    const { masks } = this.view;
    const steps = el(this.content, 'div', { class: 'mp-steps' });
    buildSteps(steps, opened, this.view.view(), {
      ask: (more) => this.ask(more),
      deeper: () => this.deeper(),
      say: this.say,
      zero: (parent, head) => masks.headButton(parent, this.part.layer - 1, head),
    });
    if (tables.length) button(this.content, 'Show tables', () => this.deeper(), { class: 'mp-level' });
  }
}

// ------------------------------------------------------------ the tables, each with a CSV download

const number = (value) =>
  Number.isFinite(value)
    ? (Math.abs(value) >= 1 || value === 0 ? brief(value) : value.toPrecision(3)).replace('-', MINUS)
    : '–';

// As in vitviz/csv_table.py: no name of a class or token is a formula to a spreadsheet.
const FORMULA = /(^|[;\t\r\n])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const escapeFormula = (text) => (text.trim() && Number.isNaN(Number(text)) ? text.replace(FORMULA, "$1$2'") : text);

const less = (text) => text.replace(/\d+/g, (number) => number - 1);
const patchFromZero = (name) => name.replace(/^the patch in row \d+, column \d+$/, less);
const columnFromZero = (name) => name.replace(/\bcolumn \d+$/, (place) => `${less(place)} (from 0)`);

/** Return a table as CSV, which counts rows and columns from 0 and says so. */
function csvOf({ columns, rows }, { data, shape }) {
  const cell = (name) => {
    const text = escapeFormula(name);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const names = rows?.map(String);
  const places = names?.map(patchFromZero);
  const corner = names?.some((name, i) => name !== places[i]) ? 'position (from 0)' : '';
  const head = [...(rows ? [corner] : []), ...columns.map((name) => columnFromZero(String(name)))].map(cell);
  const lines = Array.from({ length: shape[0] }, (_, i) => [
    ...(rows ? [cell(places[i])] : []),
    ...data.subarray(i * shape[1], (i + 1) * shape[1]),
  ]);
  return [head, ...lines].map((line) => line.join(',')).join('\n') + '\n';
}

function tableOf(parent, table, say) {
  const array = table.values;
  const box = el(parent, 'div', { class: 'mp-table' });
  const head = el(box, 'div', { class: 'mp-head' });
  el(head, 'b', {}, table.title);
  const download = () => {
    save(new Blob([csvOf(table, array)], { type: 'text/csv' }), table.file);
    say(`Downloaded ${table.file}`);
  };
  button(head, 'CSV', download, { 'aria-label': `Download ${table.title} as CSV` });
  const scroll = el(box, 'div', { class: 'mp-scroll', tabindex: '0', role: 'region', 'aria-label': table.title });
  const node = el(scroll, 'table');
  const first = el(el(node, 'thead'), 'tr');
  if (table.rows) el(first, 'td');
  for (const column of table.columns) el(first, 'th', { scope: 'col' }, String(column));
  const body = el(node, 'tbody');
  const [rows, columns] = array.shape;
  for (let i = 0; i < rows; i++) {
    const line = el(body, 'tr');
    if (table.rows) el(line, 'th', { scope: 'row' }, String(table.rows[i]));
    for (let k = 0; k < columns; k++) el(line, 'td', {}, number(array.data[i * columns + k]));
  }
}

function buildTables(parent, tables, say) {
  const box = el(parent, 'div', { class: 'mp-tables', tabindex: '-1' });
  for (const table of tables) tableOf(box, table, say);
}
