// Create elements, canvases, tooltips and live regions; text is never set as HTML.

const NUMBERS = /^[\d\s.,%+−±×·–]+$/;
const UNTRANSLATED = ['canvas', 'code', 'rowheader', 'cell']; // tags and roles: pictures, code, names of classes, values

/** Create an element with attributes and text, appended to a parent if given; a browser does not translate its numbers or code. */
export function el(parent, tag, attributes = {}, text = '') {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  if (UNTRANSLATED.includes(tag) || UNTRANSLATED.includes(attributes.role) || NUMBERS.test(text))
    node.translate = false;
  parent?.appendChild(node);
  return node;
}

/** Set an element's text if it differs: a new text, even an equal one, lays the page out again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function button(parent, text, act, attributes = {}) {
  const node = el(parent, 'button', { type: 'button', ...attributes }, text);
  node.onclick = act;
  return node;
}

/** Give a list of parts {box} `count` entries: add(i) creates those that lack, the others leave the page. */
export function setCount(parts, count, add) {
  while (parts.length < count) parts.push(add(parts.length));
  for (const { box } of parts.splice(count)) box.remove();
}

/** Disable a button for a reason, which is its title then; '' enables it. */
export function disable(node, reason) {
  node.dataset.title ??= node.title;
  node.title = reason || node.dataset.title;
  node.disabled = reason !== '';
}

/** Download a Blob as a file. */
export function save(blob, file) {
  const link = el(null, 'a', { href: URL.createObjectURL(blob), download: file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Create a canvas in CSS pixels at the device's resolution: {node, ctx, size(width, height), width, height}. */
export function canvas(parent, attributes = {}) {
  const node = el(parent, 'canvas', attributes);
  const ctx = node.getContext('2d');
  const self = {
    node,
    ctx,
    width: 0,
    height: 0,
    /** Set its size in px; drawings are scaled by `enlarged`. */
    size(width, height, enlarged = 1) {
      const scale = window.devicePixelRatio || 1;
      const w = Math.max(1, Math.round(width * scale));
      const h = Math.max(1, Math.round(height * scale));
      if (node.width !== w || node.height !== h) {
        node.width = w;
        node.height = h;
        node.style.width = `${width}px`;
        node.style.height = `${height}px`;
      }
      ctx.setTransform(scale * enlarged, 0, 0, scale * enlarged, 0, 0);
      self.width = width / enlarged;
      self.height = height / enlarged;
      ctx.clearRect(0, 0, self.width, self.height);
      return ctx;
    },
  };
  return self;
}

/** Create a tooltip: show(x, y, text) in the view's pixels, showOver(node, x, y, text) in those of a node, hide(). */
export function tooltip(root) {
  const node = el(root, 'div', { class: 'vv-tip', 'aria-hidden': 'true' });
  return {
    showOver(other, x, y, text) {
      const [box, base] = [other.getBoundingClientRect(), root.getBoundingClientRect()];
      this.show(box.left - base.left + x, box.top - base.top + y, text);
    },
    show(x, y, text) {
      node.textContent = text;
      const { offsetWidth: width, offsetHeight: height } = node;
      node.style.left = `${Math.max(0, Math.min(x + 12, root.clientWidth - width))}px`;
      node.style.top = `${y - height - 8 < 0 ? y + 16 : y - height - 8}px`;
      node.style.visibility = 'visible';
    },
    hide() {
      node.style.visibility = 'hidden';
    },
  };
}

/** Create a polite live region for screen readers; returns a function that announces text. */
export function live(root) {
  const node = el(root, 'div', { class: 'vv-live', 'aria-live': 'polite' });
  return (text) => setText(node, text);
}

/** Create a view of a module's default export (see base.js) and return its update. */
export function createView(exported, context) {
  if (!exported.prototype?.update) return exported(context);
  const view = new exported(context);
  let arrays = null; // of the message before
  return (message) => {
    const fresh = message.arrays !== arrays;
    arrays = message.arrays;
    return view.update(message, fresh);
  };
}

/** Shorten text with an ellipsis to fit a width. */
export function fit(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && ctx.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}
