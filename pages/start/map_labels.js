// The few words of the scene: what the model does in three sentences, whose stream it is, what the curves are.

import { el } from '../views/kit/dom.js';

/** Writes them into the band of blocks; the element for the stream's own, or null where the scene has no stream. */
export function sceneLabels(band, { core, narrow, boxes }) {
  if (!core || narrow) return null;
  const stream = el(band, 'span', { class: 'mp-note mp-stream-note', 'aria-hidden': 'true' });
  const line = core.lines.at(-1);
  if (line.lens) {
    const note = el(band, 'span', { class: 'mp-note', 'aria-hidden': 'true' }, 'If the head read here');
    Object.assign(note.style, { left: `${boxes[line.ids[0]].tile.x}px`, top: `${core.lines[0].lens.y - 17}px` });
  }
  return stream;
}

/** Says whose stream is drawn. */
export function labelStream(label, { core, boxes }, name) {
  const words = `The stream of ${name}: as thick as it is long`;
  if (label.textContent === words) return;
  label.textContent = words;
  const { tile } = boxes[core.lines[0].ids[0]];
  Object.assign(label.style, { left: `${tile.x}px`, top: '-20px' });
}

/** What a token is, where places come in and what attention adds, above the layers; what makes a class, at the end. */
export function writeNotes(stage, bands, { layers, classes }) {
  const say = (words) => Object.assign(document.createElement('p'), { className: 'mp-say', textContent: words });
  if (layers) (bands.core ?? bands.outro).before(say(layers));
  if (classes) stage.append(say(classes));
}
