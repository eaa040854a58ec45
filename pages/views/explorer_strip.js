// One head in all layers, kept for the explorers by its tag: a change of layer alone names a strip that is here already.
// It draws nothing. Two explorers may name one strip, so it goes with the last of those that brought it.

import { drop, keep, tell } from './kit/bus.js';

export default function explorerStrip({ root, onUnmount }) {
  root.style.height = '0';
  let mine = null;
  onUnmount(() => drop('strip', mine, root));
  return function update({ header: { tag }, arrays }) {
    if (tag === mine) return;
    keep('strip', tag, root, arrays);
    drop('strip', mine, root);
    mine = tag;
    tell('strip', root, { tag });
  };
}
