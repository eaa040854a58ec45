// The models read the changed image while it is dragged: the engine runs them in the browser.

import { newestOnly } from '../../../vitviz/browser/engine/client.js';
import { probabilitiesOf } from '../../../vitviz/browser/engine/forward.js';
import { computeNewest, openModel, toInput } from '../../../vitviz/browser/engine/live_model.js';
import { cutGround } from '../../../vitviz/browser/image_input.js';
import { readPhoto } from '../../../vitviz/browser/kit/photo_file.js';
import { preparePhoto } from '../../../vitviz/browser/kit/photo_input.js';
import { offscreen } from '../../../vitviz/browser/kit/pixels.js';
import { borderLevels, changeInput } from './input_changes.js';
import { isKnown } from './sweep_panels.js';

/** Return the readout's row of the last layer's attention, the mean over the heads, for the patches. */
function readoutRow({ shape: [heads, tokens], data }, patches, readout) {
  const first = tokens - patches;
  const row = new Float32Array(patches);
  const queries = readout === 'mean' ? Array.from({ length: patches }, (_, i) => first + i) : [0];
  for (let h = 0; h < heads; h++)
    for (const query of queries)
      for (let k = 0; k < patches; k++)
        row[k] += data[(h * tokens + query) * tokens + first + k] / (heads * queries.length);
  return row;
}

async function prepareFile(file, address) {
  const photo = await readPhoto(file);
  const { preparation } = await openModel(address);
  const { seen, box } = preparePhoto(photo, preparation);
  return { seen, ground: cutGround(photo, box) };
}

const prepared = new WeakMap(); // file -> {address of a model, promise}: the views of a page prepare a file once

/**
 * Return a function that makes a message one about another image, a file of the user; its chances are not a number until
 * they are computed. Throws an Error with a sentence for the user.
 */
export async function replaceImage({ header: { weights } }, file) {
  const [address] = weights;
  if (prepared.get(file)?.address !== address) prepared.set(file, { address, promise: prepareFile(file, address) });
  const { seen, ground } = await prepared.get(file).promise;
  return (message) => withImage(message, seen, ground);
}

function withImage({ header, arrays, ...rest }, seen, ground) {
  const levels = seen.data.filter((_, i) => i % 4 < 3);
  const frames = copyOf(arrays.frames);
  frames.data.set(levels, header.neutral * levels.length);
  const chances = copyOf(arrays.chances);
  chances.data.fill(NaN);
  const photograph = ground.width > seen.width;
  const bitmap = photograph ? ground : offscreen(new ImageData(seen.data, seen.width, seen.height));
  const news = { photograph, border: borderLevels(levels, seen.width), truth: -1 };
  return { ...rest, header: { ...header, ...news }, arrays: { ...arrays, frames, chances, photo: { bitmap } } };
}

/** Let the browser paint and take the user's input: in a file the engine may compute on the page's own thread. */
const pause = () => new Promise((done) => setTimeout(done));

export class LiveSweep {
  /**
   * show(message, hand, all): draws a message whose arrays are those of the moved cover or pieces.
   * showStrength(message, left): draws a message about another image, whose answers at `left` strengths are missing.
   */
  constructor(show, showStrength) {
    const compute = computeNewest((...request) => this.compute(...request));
    const computeImage = newestOnly((...request) => this.computeImage(...request));
    let last = 0;
    /** Answer a moved cover or piece; with `all` at every strength, unless something moves meanwhile. */
    this.follow = (message, hand, all = false) => {
      last += 1;
      const number = last;
      return compute(message, hand, all, () => number !== last);
    };
    /** Answer another image at every strength, unless something moves meanwhile; `hand()` is the current one. */
    this.followImage = (message, hand) => {
      last += 1;
      const number = last;
      return computeImage(message, hand, () => number !== last);
    };
    Object.assign(this, { show, showStrength });
  }

  /** True if the engine runs every model of a message. */
  answers = ({ header }) => header.weights.length > 0 && header.weights.every(Boolean);

  async compute(message, hand, all, isOld) {
    const { header, arrays } = message;
    const changed = { ...arrays, frames: copyOf(arrays.frames), chances: copyOf(arrays.chances) };
    header.models.forEach((_, m) => (changed[`view${m}`] = copyOf(arrays[`view${m}`])));
    const missing = isKnown(message, header.neutral) ? [] : [header.neutral];
    for (const at of all ? header.words.keys() : [...missing, hand.at]) {
      if (all) await pause();
      if (all && isOld()) return;
      const input = changeInput(message, { ...hand, at });
      if (!(await this.answer({ header, arrays: changed }, input, at))) return; // the server answers
    }
    if (!all || !isOld()) this.show({ ...message, arrays: changed, live: true }, hand, all);
  }

  /** Answer the unchanged image, then the strength at hand, then all others, and show each answer. */
  async computeImage(message, hand, isOld) {
    const { neutral, words } = message.header;
    const left = new Set(words.keys());
    while (left.size && !isOld()) {
      await pause();
      const at = [neutral, hand().at, ...left].find((strength) => left.has(strength));
      if (!(await this.answer(message, changeInput(message, { ...hand(), at }), at))) return;
      left.delete(at);
      if (!isOld()) this.showStrength({ ...message, live: true }, left.size);
    }
  }

  /** Write the changed image at hand into a message's arrays, before the models have answered it. */
  change({ header, arrays }, hand) {
    const input = changeInput({ header, arrays }, hand);
    arrays.frames.data.set(input, hand.at * input.length);
  }

  /** Write what the models answer to an input into a message's arrays, at one strength; false if one cannot be read. */
  async answer({ header, arrays }, levels, at) {
    const [, steps, classes] = arrays.chances.shape;
    arrays.frames.data.set(levels, at * levels.length);
    for (const [m, address] of header.weights.entries()) {
      const model = address && (await openModel(address).catch(() => null));
      if (address && !model) return false;
      if (!model) continue; // a model of the server
      const { kind, depth, readout } = model.config;
      const attends = header.models[m].by === 'attention' && kind === 'vit';
      const names = attends ? ['logits', `blocks.${depth - 1}.attn`] : ['logits'];
      const { tensors } = await model.run(toInput(levels, model.preparation), { record: names });
      arrays.chances.data.set(probabilitiesOf(model.config, tensors.logits), (m * steps + at) * classes);
      const view = arrays[`view${m}`];
      const cells = view.shape[1] * view.shape[2];
      const row = attends ? readoutRow(tensors[names[1]], cells, readout) : new Float32Array(cells);
      row.forEach((value, i) => (view.data[at * cells + i] = Math.min(255, (255 * value) / header.models[m].top)));
    }
    return true;
  }
}

const copyOf = ({ data, shape }) => ({ data: data.slice(), shape });
