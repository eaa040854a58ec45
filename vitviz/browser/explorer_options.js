// Pass view options to the explorers of a group, so that a change does not resend the weights; draws nothing.

import { keep, tell } from './kit/bus.js';

export default function explorerOptions({ root }) {
  root.style.height = '0';
  return function update({ header }) {
    keep('options', header.group, root, header);
    tell('options', root, header);
  };
}
