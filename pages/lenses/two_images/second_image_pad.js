// A pad on which the second image is drawn; lifting the pen reports the strokes.

import { button, canvas, el, live } from '../../../vitviz/browser/kit/dom.js';
import { Pad } from '../../../vitviz/browser/kit/drawing_pad.js';

const SIDE = 240;

export default function drawingPad({ root, trigger }) {
  const board = canvas(root, { class: 'vv-pad' });
  const buttons = el(root, 'div', { class: 'vv-row' });
  let colors = null;
  const pad = new Pad({
    paint: () => pad.paint(board.size(SIDE, SIDE), SIDE, colors),
    changed: (text) => trigger('draw', text),
    say: live(root),
  });
  button(buttons, 'Undo', () => pad.undo());
  button(buttons, 'Clear', () => pad.clear());
  pad.attach(board.node);
  return (message) => {
    colors = message.colors;
    if (!pad.line && pad.text !== message.header.strokes) pad.set(message.header.strokes);
    pad.paint(board.size(SIDE, SIDE), SIDE, colors);
  };
}
