// How the explorers of one group are viewed: a message of a few bytes, so that a change of opacity, scale or pin does
// not send the weights again. It draws nothing.

import { keep, tell } from './kit/bus.js';

export default function explorerOptions({ root }) {
  root.style.height = '0';
  return function update({ header }) {
    keep('options', header.group, root, header);
    tell('options', root, header);
  };
}
