// Write the labels of the map: the notes between its bands, the names of stream and curves, and the tooltip.

import { el } from '../../vitviz/browser/kit/dom.js';
import { lensClasses } from './map_scene.js';

/** Create the label elements in the band of blocks (null if not shown). */
export function sceneLabels(band, { core, narrow, boxes }) {
  if (!core || narrow) return { stream: null, curves: null };
  const note = (left, top, kind = '') => {
    const label = el(band, 'span', { class: `mp-note ${kind}`.trim(), 'aria-hidden': 'true' });
    Object.assign(label.style, { left: `${left}px`, top: `${top}px` });
    return label;
  };
  const line = core.lines.at(-1);
  return {
    stream: note(boxes[core.lines[0].ids[0]].tile.x, -20, 'mp-stream-note'),
    curves: line.lens ? note(boxes[line.ids[0]].tile.x, core.lines[0].lens.y - 17) : null,
  };
}

/** Name the token whose stream is drawn, and the classes that have a curve. */
export function writeLabels({ stream, curves }, model, name) {
  const write = (label, words) => {
    if (label && label.textContent !== words) label.textContent = words;
  };
  write(stream, `Residual stream of ${name}: thickness = norm`);
  const [best, ...others] = lensClasses(model).map((k) => model.header.classes.names[k]);
  write(
    curves,
    `Prediction if the model stopped here: ${best}${others.length ? `, in grey ${others.join(' and ')}` : ''}`,
  );
}

/** Write the notes about tokens, positions and attention above the layers, and about classes at the end. */
export function writeNotes(stage, bands, { layers, classes }, truth) {
  const paragraph = (words) => Object.assign(document.createElement('p'), { className: 'mp-say', textContent: words });
  if (layers) (bands.core ?? bands.outro).before(paragraph(layers));
  if (classes) stage.append(paragraph(truth < 0 ? classes : `${classes} ✓ marks the true class.`));
}

const HIGHEST = 72; // px from the top, above which the tooltip is shown below the pointer

/** Create a tooltip: show(x, y, text), hide(); positioned by CSS alone, as measuring would force a layout per hover. */
export function tip(root) {
  const row = el(root, 'div', { class: 'mp-tip-row', 'aria-hidden': 'true' });
  const room = el(row, 'span'); // shrinks if the tooltip would leave the view
  const node = el(row, 'div', { class: 'vv-tip' });
  return {
    show(x, y, text) {
      if (node.textContent !== text) node.textContent = text;
      room.style.flexBasis = `${x + 12}px`;
      row.style.transform = y < HIGHEST ? `translateY(${y + 16}px)` : `translateY(calc(${y - 8}px - 100%))`;
      node.style.visibility = 'visible';
    },
    hide() {
      node.style.visibility = 'hidden';
    },
  };
}
