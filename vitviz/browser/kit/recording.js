// Record what a player plays, as a file 1280 px wide: the player runs by a clock that waits until its view is drawn as an
// image.

import { save, el } from './dom.js';
import { setClock } from './motion.js';
import { createContext } from './pixels.js';

/** Return the URL's content as a data URL. */
async function embed(url) {
  const reader = new FileReader();
  const read = new Promise((resolve) => {
    reader.onload = resolve;
  });
  reader.readAsDataURL(await (await fetch(url)).blob());
  await read;
  return reader.result;
}

/** Return the page's upright font faces of some families, with the fonts in them. */
async function embedFonts(families) {
  const faces = [...document.styleSheets].flatMap((sheet) =>
    [...sheet.cssRules]
      .filter(
        (rule) => rule instanceof CSSFontFaceRule && families.includes(rule.style.fontFamily.replace(/["']/g, '')),
      )
      .map((rule) => [rule, sheet.href ?? document.baseURI]),
  );
  const texts = faces
    .filter(([rule]) => rule.style.fontStyle !== 'italic')
    .map(async ([rule, base]) => {
      const [, address] = rule.style.src.match(/url\(["']?([^"')]+)/);
      return rule.cssText.replace(/src:[^;]+;/, `src: url(${await embed(new URL(address, base))});`);
    });
  return (await Promise.all(texts)).join('\n');
}

/** Return the style sheet of a view's copy: its rules, fonts, and the variables that they use. */
async function readStyles(root) {
  const place = root.getRootNode();
  const sheets = [...place.styleSheets, ...place.adoptedStyleSheets];
  const rules = sheets.flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join('\n');
  const style = getComputedStyle(root);
  const variables = [...new Set(rules.match(/--[\w-]+/g))]
    .map((name) => [name, style.getPropertyValue(name)])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value};`);
  const fonts = await embedFonts(style.fontFamily.replace(/["']/g, '').split(/, */));
  return `${fonts}\n${rules}\n.vv-copy { ${variables.join(' ')} }`;
}

/** Copy a view; canvases become boxes with their image. */
function copyView(root) {
  const copy = root.cloneNode(true);
  const copies = copy.querySelectorAll('canvas');
  for (const [i, node] of root.querySelectorAll('canvas').entries()) {
    if (!node.offsetWidth) continue;
    const { display, width, height } = getComputedStyle(node);
    const background = `0 0 / 100% 100% url(${node.toDataURL()})`;
    Object.assign(copies[i].style, { display, width, height, background });
  }
  return copy;
}

/** Draw a view on a canvas context, with a margin in px around it and the style sheet of `readStyles`. */
async function drawView(ctx, root, styles, margin) {
  const { width, height } = ctx.canvas;
  const page = el(null, 'div', { class: 'vv-copy', style: `padding: ${margin}px` });
  el(page, 'style', {}, styles);
  page.append(copyView(root));
  const rem = getComputedStyle(document.documentElement).fontSize;
  const image = new Image();
  const loaded = new Promise((resolve, reject) => Object.assign(image, { onload: resolve, onerror: reject }));
  const markup = new XMLSerializer().serializeToString(page);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" style="font-size: ${rem}">` +
      `<foreignObject width="100%" height="100%">${markup}</foreignObject></svg>`,
  )}`;
  await loaded;
  ctx.drawImage(image, 0, 0);
}

export { FORMATS } from './animation_files.js';

const WIDTH_PX = 1280;
const MARGIN_PX = 16;
const FRAME_MS = 80;
const FLOW_FRAME_MS = 100 / 3; // of a motion without rests
const END_MS = 1500; // the last frame, before the animation begins again

/** A clock for motion.js that stands still until it is advanced. */
class RecordingClock {
  recording = true;
  time = 0;
  due = [];

  constructor(frameMs) {
    this.frameMs = frameMs;
  }

  now() {
    return this.time;
  }

  frame(act) {
    return this.wait(this.frameMs, act);
  }

  wait(ms, act) {
    const entry = { at: this.time + ms, act };
    this.due.push(entry);
    return () => {
      this.due = this.due.filter((other) => other !== entry);
    };
  }

  /** Return the time until something is due, in ms. */
  untilNext() {
    return this.due.length ? Math.max(0, Math.min(...this.due.map(({ at }) => at)) - this.time) : this.frameMs;
  }

  advance(ms) {
    this.time += ms;
    const due = this.due.filter(({ at }) => at <= this.time);
    this.due = this.due.filter(({ at }) => at > this.time);
    for (const { act } of due) act();
  }
}

/** Passes on what changes from frame to frame; equal frames become one. */
class Frames {
  constructor(writer) {
    Object.assign(this, { writer, before: null, pending: null });
  }

  async add(ctx, ms) {
    const { width, height } = ctx.canvas;
    const pixels = new Uint32Array(ctx.getImageData(0, 0, width, height).data.buffer);
    const box = this.before ? findChange(this.before, pixels, width) : [0, 0, width, height];
    this.before = pixels;
    if (!box) {
      this.pending.ms += ms;
      return;
    }
    await this.flush();
    this.pending = { image: ctx.getImageData(...box), x: box[0], y: box[1], ms };
  }

  async flush() {
    if (this.pending) await this.writer.add(...Object.values(this.pending));
  }

  async end() {
    await this.flush();
    return this.writer.end();
  }
}

/** Return [x, y, width, height] around all pixels that differ, x and y even (as WebP needs), or null. */
function findChange(before, after, width) {
  const first = after.findIndex((pixel, i) => pixel !== before[i]);
  if (first < 0) return null;
  const last = after.findLastIndex((pixel, i) => pixel !== before[i]);
  const top = Math.floor(first / width) & ~1;
  const bottom = Math.floor(last / width);
  let [left, right] = [width, 0];
  for (let y = top; y <= bottom; y++) {
    const row = y * width;
    let x = 0;
    while (x < left && after[row + x] === before[row + x]) x++;
    left = Math.min(left, x);
    x = width - 1;
    while (x > right && after[row + x] === before[row + x]) x--;
    right = Math.max(right, x);
  }
  left &= ~1;
  return [left, top, right - left + 1, bottom - top + 1];
}

/** Wait until the views have drawn; some draw in the next frame. */
const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

/** Play from the first moment to the last and call shown(ms) for each frame; returns true if it was not stopped. */
async function play(player, clock, shown) {
  if (player.playing) player.finish();
  player.rewind();
  player.toggle();
  while (player.playing) {
    await drawn();
    const ms = clock.untilNext();
    await shown(ms);
    clock.advance(ms);
  }
  await drawn();
  if (player.at() < player.last()) return false;
  await shown(END_MS);
  return true;
}

/** Lay a view out at the file's width, but show it as wide as before; returns a function that ends it. */
function widen(root) {
  const before = root.style.cssText;
  const width = WIDTH_PX - 2 * MARGIN_PX;
  const scale = root.clientWidth / width;
  Object.assign(root.style, { width: `${width}px`, transform: `scale(${scale})`, transformOrigin: '0 0' });
  return () => {
    root.style.cssText = before;
  };
}

/** Record a player's animation as a Blob; null if the user stopped it. told(share): its progress in [0, 1]. */
async function record(player, format, told) {
  const root = player.node.closest('[data-component]');
  const restore = widen(root);
  const clock = new RecordingClock(player.flow ? FLOW_FRAME_MS : FRAME_MS);
  setClock(clock);
  try {
    const styles = await readStyles(root);
    let [length, height] = [0, 0];
    const measured = await play(player, clock, (ms) => {
      length += ms;
      height = Math.max(height, root.offsetHeight);
    });
    if (!measured) return null;
    const size = [WIDTH_PX, 2 * Math.ceil((height + 2 * MARGIN_PX) / 2)]; // even, as videos need
    const ctx = createContext(...size, { willReadFrequently: true });
    const frames = new Frames(new format.Writer(...size));
    let past = 0;
    const whole = await play(player, clock, async (ms) => {
      await drawView(ctx, root, styles, MARGIN_PX);
      await frames.add(ctx, ms);
      told((past += ms) / length);
    });
    return whole ? await frames.end() : null;
  } finally {
    setClock();
    restore();
  }
}

/** Record a player's animation and download it, named after what it shows and the model in the page's address. */
export async function download(player, format, told) {
  const blob = await record(player, format, told);
  if (!blob) return;
  const model = new URLSearchParams(location.search).get('model')?.replace(/^\w+:/, '') ?? '';
  const name = [player.file, model.replace(/\W+/g, '_')].filter(Boolean).join('_');
  save(blob, `${name}.${format.ending}`);
}
