// The frame of every view, imported by Streamlit once per session. A message names the view's files and holds its data;
// the files are fetched from this server, and the view is created, drawn and removed.

import { open } from '../../vitviz/browser/kit/blob.js';
import { createView, el } from '../../vitviz/browser/kit/dom.js';
import { CHANGED, isAlone } from '../../vitviz/browser/kit/figure_scale.js';
import { oneEntryAPage } from './browser_history.js';
import { theme } from '../../vitviz/browser/kit/colour_ramp.js';

oneEntryAPage(); // as early as possible: the user may click before the page is complete

const sheets = new Map();
const heights = new Map(); // last height of a view, by element and width

/** Fetch a style sheet once; all views share it. After a failure, such as of the network, the next view tries again. */
function sheet(address) {
  if (!sheets.has(address)) {
    const fetched = fetchSheet(address);
    sheets.set(address, fetched);
    fetched.catch(() => sheets.delete(address));
  }
  return sheets.get(address);
}

async function fetchSheet(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return new CSSStyleSheet().replace(await response.text());
}

/** Load a view's function and style sheets from its files below the checkout: one module, then CSS. */
async function load(files) {
  const [module, ...css] = files.map((file) => new URL(`../../${file}`, import.meta.url).href);
  const styles = [new URL('../../vitviz/browser/base.css', import.meta.url).href, ...css];
  const [{ default: setup }, ...adopted] = await Promise.all([import(module), ...styles.map(sheet)]);
  return { setup, adopted };
}

// One instance per element, stored on it, so that a page that outlives its server finds the instance of an older
// base.js.
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
      this.update = createView(setup, this.context());
    } catch (error) {
      this.fail(error);
      return;
    }
    this.watch();
    this.draw();
  }

  /** Reserve the view's height (register.py) until it has drawn. */
  reserve() {
    const host = this.parent.getRootNode().host ?? this.parent;
    this.box = host.closest('[data-testid="stElementContainer"]');
    if (!this.box) return;
    this.name = `${this.box.className.match(/st-key-\S+/)} ${this.box.clientWidth}`;
    if (heights.has(this.name)) this.stand(`${heights.get(this.name)}px`);
  }

  /** Set the element's height; in a column Streamlit sets its flex basis too. */
  stand(height) {
    this.box.style.height = height;
    if (getComputedStyle(this.box.parentElement).flexDirection === 'column') this.box.style.flexBasis = height;
  }

  release() {
    if (!this.box) return;
    this.stand('auto');
    this.box.dataset.drawn = 'true';
    this.box.style.overflow = 'visible';
  }

  /** Return the view's interface: root, state, events of one run and a callback at its end. */
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

  /** Show an error if the code could not be loaded; the next message tries again. */
  fail(error) {
    console.error(error);
    delete this.parent[LIFE];
    this.root.replaceChildren();
    el(this.root, 'p', { role: 'alert' }, 'The code of this figure could not be loaded. Reload the page.');
  }

  watch() {
    const resized = new ResizeObserver(([{ contentRect }]) => {
      if (this.drawn && contentRect.height) heights.set(this.name, Math.round(contentRect.height));
      if (this.root.clientWidth !== this.width) this.draw();
    });
    resized.observe(this.root);
    // The view is inserted again if the element's HTML is replaced.
    const settled = new MutationObserver(() => {
      if (this.root.isConnected || !this.parent.isConnected) return;
      const fresh = this.parent.querySelector('.vv');
      if (fresh) fresh.replaceWith(this.root);
      else this.parent.append(this.root);
      this.draw();
    });
    settled.observe(this.parent, { childList: true });
    const regrow = () => this.draw();
    window.addEventListener(CHANGED, regrow);
    this.unmounts.push(
      () => window.removeEventListener(CHANGED, regrow),
      () => resized.disconnect(),
      () => settled.disconnect(),
    );
  }

  draw() {
    if (!this.update) return; // its module is still loading and will draw the newest message
    const colors = theme(this.root);
    // A view that keeps images of its arrays makes them anew in another theme.
    if (this.mode && this.mode !== colors.mode) this.message = { ...this.message, arrays: { ...this.message.arrays } };
    this.mode = colors.mode;
    for (const name of ['query', 'muted', 'line', 'panel']) this.root.style.setProperty(`--vv-${name}`, colors[name]);
    if (!this.root.clientWidth) return; // hidden: drawn when it becomes visible
    this.width = this.root.clientWidth;
    this.root.toggleAttribute('data-alone', isAlone());
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
 * Mount or update a view; Streamlit calls this at every change of data or theme.
 *
 * A view's module exports `setup({root, send, trigger, onUnmount})`, which runs once per element and returns
 * `update({header, arrays, colors, width})`, or a class with both as its constructor and method; the method's second
 * argument is true if the arrays are new. update runs at every change of data, width or theme and draws everything.
 * root carries data-ready="true" once update has drawn. `send(name, value)` sets the component's state,
 * `trigger(name, value)` is an event of one run; both are called only for user input.
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
  // Streamlit also cleans up before it runs the view again in its old element, and after newer calls have drawn, so the
  // view ends only when its element has left the page.
  return () => {
    life.farewell = setTimeout(() => {
      if (!place.isConnected) life.end();
    });
  };
}
