// What Streamlit imports, once a visit: the frame of every view. A message names the view's files and brings its data;
// the files are fetched from beside this one, and the view is made, drawn and ended.

import { open } from './kit/blob.js';
import { el } from './kit/dom.js';
import { oneEntryAPage } from './kit/history.js';
import { theme } from './kit/ramp.js';

oneEntryAPage(); // here, in the first of our code that a visit gets: the visitor may click before the page is complete

const sheets = new Map();
const heights = new Map(); // of a view by its place and width: what it last came to

/** A style sheet of ours, fetched once and shared by all views that adopt it. */
function sheet(address) {
  if (!sheets.has(address)) sheets.set(address, fetchSheet(address));
  return sheets.get(address);
}

async function fetchSheet(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return new CSSStyleSheet().replace(await response.text());
}

/** A view's function and its style sheets, from its files below `pages`: one module, then CSS. */
async function load(files) {
  const [module, ...css] = files.map((file) => new URL(`../${file}`, import.meta.url).href);
  const styles = [new URL('base.css', import.meta.url).href, ...css];
  const [{ default: setup }, ...adopted] = await Promise.all([import(module), ...styles.map(sheet)]);
  return { setup, adopted };
}

// One life a place; kept on the place itself, so that a page that outlives its server finds what an older base.js left.
const LIFE = Symbol.for('vitviz.view');

class Life {
  constructor(parent, files) {
    this.parent = parent;
    this.files = files;
    this.unmounts = [];
    this.message = null;
    this.update = null;
    this.root = parent.querySelector('.vv') ?? el(parent, 'div', { class: 'vv' });
    this.reserve();
    this.root.replaceChildren();
    this.root.dataset.component = files[0].replace(/^.*\/|\.js$/g, '');
    this.begun = this.begin();
  }

  async begin() {
    try {
      const { setup, adopted } = await load(this.files);
      if (this.ended) return;
      this.adopt(adopted);
      this.update = setup(this.context());
    } catch (error) {
      this.fail(error);
      return;
    }
    this.watch();
    this.draw();
  }

  /** Streamlit's place for the view keeps the height that it is given (register.py) until the view has drawn. */
  reserve() {
    const host = this.parent.getRootNode().host ?? this.parent;
    this.box = host.closest('[data-testid="stElementContainer"]');
    if (!this.box) return;
    this.name = `${this.box.className.match(/st-key-\S+/)} ${this.box.clientWidth}`;
    if (heights.has(this.name)) this.stand(`${heights.get(this.name)}px`);
  }

  /** The place's height; in a column Streamlit has given it as the place's share of it, too. */
  stand(height) {
    this.box.style.height = height;
    if (getComputedStyle(this.box.parentElement).flexDirection === 'column') this.box.style.flexBasis = height;
  }

  release() {
    if (!this.box) return;
    this.stand('auto');
    this.box.style.overflow = 'visible';
  }

  /** What a view may do: keep a state, trigger an event of one run, be told of its end. */
  context() {
    return {
      root: this.root,
      send: (name, value) => this.call.setStateValue(name, value),
      trigger: (name, value) => this.call.setTriggerValue(name, value),
      onUnmount: (callback) => this.unmounts.push(callback),
    };
  }

  adopt(adopted) {
    const place = this.root.getRootNode();
    place.adoptedStyleSheets = [...new Set([...place.adoptedStyleSheets, ...adopted])];
  }

  /** The code did not come: one sentence, and the next message tries again. */
  fail(error) {
    console.error(error);
    delete this.parent[LIFE];
    this.root.replaceChildren();
    el(
      this.root,
      'p',
      { role: 'alert' },
      'The code of this picture did not arrive. Reload the page to fetch it again.',
    );
  }

  watch() {
    const resized = new ResizeObserver(([{ contentRect }]) => {
      if (this.drawn && contentRect.height) heights.set(this.name, Math.round(contentRect.height));
      if (this.root.clientWidth !== this.width) this.draw();
    });
    resized.observe(this.root);
    // Whoever sets the place's HTML anew would take the view away: it takes its place again.
    const settled = new MutationObserver(() => {
      if (this.root.isConnected || !this.parent.isConnected) return;
      const fresh = this.parent.querySelector('.vv');
      if (fresh) fresh.replaceWith(this.root);
      else this.parent.append(this.root);
      this.draw();
    });
    settled.observe(this.parent, { childList: true });
    this.unmounts.push(
      () => resized.disconnect(),
      () => settled.disconnect(),
    );
  }

  draw() {
    if (!this.update) return; // its module is still loading: it will draw the newest message
    const colors = theme(this.root);
    for (const name of ['query', 'muted', 'line', 'panel']) this.root.style.setProperty(`--vv-${name}`, colors[name]);
    if (!this.root.clientWidth) return; // folded away: drawn when it is seen
    this.width = this.root.clientWidth;
    this.update({ ...this.message, colors, width: this.width });
    this.root.dataset.ready = 'true';
    if (!this.drawn) this.release();
    this.drawn = true;
  }

  end() {
    this.ended = true;
    for (const callback of this.unmounts) callback();
    this.root.replaceChildren();
    if (this.parent[LIFE] === this) delete this.parent[LIFE];
  }
}

/**
 * Streamlit's call, again and again in one place: at every change of data and of theme.
 *
 * A view's module has one function as its default export, `setup({root, send, trigger, onUnmount})`, which runs once a
 * place and returns `update({header, arrays, colors, width})`; that runs at every change of data, width or theme and
 * draws all of it. root carries data-ready="true" once update has drawn. `send(name, value)` keeps a value as the
 * component's state, `trigger(name, value)` is an event of one run; call both only from what the visitor does.
 */
export default function mount(call) {
  const place = call.parentElement;
  let life = place[LIFE];
  clearTimeout(life?.farewell);
  if (!life || life.data !== call.data) {
    const { files, header, arrays } = open(call.data);
    if (life && (!(life instanceof Life) || life.files.join() !== files.join())) {
      life.end();
      life = null;
    }
    life ??= place[LIFE] = new Life(place, files);
    life.data = call.data;
    life.message = { header, arrays };
  }
  life.call = call;
  life.draw();
  // Streamlit also cleans up when it is about to run the view again in its old place, and cleans up older calls after
  // newer ones have drawn: the view ends when its place has left the page, and not before.
  return () => {
    life.farewell = setTimeout(() => {
      if (!place.isConnected) life.end();
    });
  };
}
