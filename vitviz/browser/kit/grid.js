// Navigate a grid of cells by pointer, touch and keyboard.

/** Return the cell that a key moves to from `index` (-1: none yet, arrows go to `start`); undefined for other keys. */
export function stepTo(key, index, rows, cols, start = 0) {
  const last = rows * cols - 1;
  const from = Math.max(0, index);
  const row = Math.floor(from / cols);
  const col = from % cols;
  if (index < 0 && key.startsWith('Arrow')) return Math.min(last, start);
  switch (key) {
    case 'ArrowLeft':
      return row * cols + Math.max(0, col - 1);
    case 'ArrowRight':
      return Math.min(last, row * cols + Math.min(cols - 1, col + 1));
    case 'ArrowUp':
      return Math.max(0, row - 1) * cols + col;
    case 'ArrowDown':
      return Math.min(last, Math.min(rows - 1, row + 1) * cols + col);
    case 'Home':
      return row * cols;
    case 'End':
      return Math.min(last, row * cols + cols - 1);
    default:
      return undefined;
  }
}

/** Return the cell of a number ('28') or of a row and column ('4, 4', '(4, 4)'), both counted from 1; -1 for other texts. */
export function cellNamed(text, rows, cols) {
  const [, first, second] = text.match(/^\s*\(?\s*(\d+)\s*(?:[,.;]\s*(\d+)\s*)?\)?\s*$/) ?? [];
  if (second === undefined) return first >= 1 && first <= rows * cols ? first - 1 : -1;
  return first >= 1 && first <= rows && second >= 1 && second <= cols ? (first - 1) * cols + Number(second) - 1 : -1;
}

/** Return the cell of an even grid at (x, y) in an element's box, -1 outside. */
export function evenCell(x, y, box, rows, cols) {
  const col = Math.floor((x / box.width) * cols);
  const row = Math.floor((y / box.height) * rows);
  return col >= 0 && row >= 0 && col < cols && row < rows ? row * cols + col : -1;
}

function cellUnder(node, options, event) {
  const box = node.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  return options.cellAt ? options.cellAt(x, y) : evenCell(x, y, box, ...options.grid());
}

export function nameGrid(node, label) {
  node.setAttribute('aria-label', `${label}. Arrow keys move, Enter pins.`);
}

export function nameLines(node, label) {
  node.setAttribute('aria-roledescription', 'lines');
  node.setAttribute('aria-label', `${label}. Arrow keys read values.`);
}

function describe(node, label) {
  node.tabIndex = 0;
  node.setAttribute('role', 'application');
  node.setAttribute('aria-roledescription', 'grid of cells');
  nameGrid(node, label);
}

/** Return the cell of the digits and comma typed so far; undefined for another key, which begins a new name. */
function typeTo(event, state, options) {
  const isTyped = /^[\d,]$/.test(event.key) && !(event.ctrlKey || event.metaKey || event.altKey);
  state.typed = isTyped ? state.typed + event.key : '';
  if (!isTyped) return undefined;
  const cell = cellNamed(state.typed, ...options.grid());
  if (cell < 0 && event.key !== ',') state.typed = event.key;
  return cell < 0 ? cellNamed(state.typed, ...options.grid()) : cell;
}

/** Handle a key: move, pick, leave, or a key of the view. */
function pressed(event, state, options, go) {
  const next = typeTo(event, state, options) ?? stepTo(event.key, state.index, ...options.grid(), options.start?.());
  if (event.key === 'Escape') return go(-1, event);
  const act =
    next !== undefined
      ? () => go(next, event)
      : (event.key === 'Enter' || event.key === ' ') && state.index >= 0
        ? () => options.pick?.(state.index)
        : options.keys?.[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

/**
 * Turn an element into a navigable grid.
 *   options: {label, grid() -> [rows, cols], cellAt(x, y) -> index | -1 (default: even cells over the element),
 *             hover(index, event) with -1 for none, pick(index), keys: {key: handler} and start() -> the cell where
 *             arrows begin (both optional)}
 * Arrows, a cell's number or 'row,column' move, Home/End go to the row's ends, Enter or Space picks, Escape leaves. Returns {index, move(index)}.
 */
export function gridNavigation(node, options) {
  const state = { index: -1, typed: '' };
  const go = (index, event) => {
    if (index !== state.index) {
      state.index = index;
      options.hover(index, event);
    } else if (event?.type === 'pointermove') options.hover(index, event);
  };
  const follow = (event) => go(cellUnder(node, options, event), event);
  describe(node, options.label);
  node.onpointermove = follow;
  node.onpointerdown = follow;
  node.onpointerleave = (event) => {
    if (event.pointerType === 'mouse') go(-1, event);
  };
  node.onclick = (event) => {
    const index = cellUnder(node, options, event);
    if (index >= 0) options.pick?.(index);
  };
  node.onkeydown = (event) => pressed(event, state, options, go);
  node.onblur = () => {
    state.typed = '';
    go(-1, undefined);
  };
  return {
    get index() {
      return state.index;
    },
    move: (index) => go(index, undefined),
  };
}
