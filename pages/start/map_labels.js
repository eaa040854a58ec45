// The few words of the scene: what the model does in three sentences, whose stream it is, what the curves are.

import { el } from '../views/kit/dom.js';
import { lensClasses } from './map_scene.js';

/** Writes their places into the band of blocks: the elements of the stream's words and of the curves' (null where there are none). */
export function sceneLabels(band, { core, narrow, boxes }) {
  if (!core || narrow) return { stream: null, curves: null };
  const note = (left, top, kind = '') => {
    const found = el(band, 'span', { class: `mp-note ${kind}`.trim(), 'aria-hidden': 'true' });
    Object.assign(found.style, { left: `${left}px`, top: `${top}px` });
    return found;
  };
  const line = core.lines.at(-1);
  return {
    stream: note(boxes[core.lines[0].ids[0]].tile.x, -20, 'mp-stream-note'),
    curves: line.lens ? note(boxes[line.ids[0]].tile.x, core.lines[0].lens.y - 17) : null,
  };
}

/** Says whose stream is drawn, and which classes have a curve. */
export function writeLabels({ stream, curves }, model, name) {
  const say = (label, words) => {
    if (label && label.textContent !== words) label.textContent = words;
  };
  say(stream, `The vector of ${name} on its way: the longer, the thicker`);
  const [best, ...others] = lensClasses(model).map((k) => model.header.classes.names[k]);
  say(
    curves,
    `If the head read here: how sure of ${best}${others.length ? `, and in grey of ${others.join(' and ')}` : ''}`,
  );
}

/** What a token is, where places come in and what attention adds, above the layers; what makes a class, at the end. */
export function writeNotes(stage, bands, { layers, classes }, truth) {
  const say = (words) => Object.assign(document.createElement('p'), { className: 'mp-say', textContent: words });
  if (layers) (bands.core ?? bands.outro).before(say(layers));
  if (classes) stage.append(say(truth < 0 ? classes : `${classes} ✓ marks the picture's true class.`));
}
