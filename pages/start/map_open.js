// Open a part of the map: its operations and tables for one token, from named records of the model.

import { cellAt, placeOf } from '../../vitviz/browser/kit/pin.js';
import { openBlock, openMerging } from './map_open_block.js';
import { openEmbedding, openLevel, openPositions, openPrefix, openStem } from './map_open_inputs.js';
import { openClasses, openHead, openNorm, openPool } from './map_open_output.js';
import { nameToken } from './map_operations.js';

const OPENERS = {
  embed: openEmbedding,
  prefix: openPrefix,
  positions: openPositions,
  block: openBlock,
  merge: openMerging,
  stem: openStem,
  stage: openLevel,
  norm: openNorm,
  pool: openPool,
  head: openHead,
  classes: openClasses,
};

/**
 * Return a part's {part, token_name, head, class, channel, steps, tables} for a token.
 *   model: the map's model; pin: of the token; query: {head, class, channel}, each 0-based or missing
 *   records: {config, classes, get(...names)}, from which the part is computed
 */
export async function openPart(model, id, pin, query, records) {
  const { header, parts } = model;
  const part = model.byId.get(id);
  const { prefix, grid } = part.grid ? part : header;
  const cell = cellAt(grid, placeOf(pin) ?? [0.5, 0.5]);
  const token = prefix.includes(pin) ? prefix.indexOf(pin) : prefix.length + cell;
  const get = (...names) => records.get(names);
  const context = { model, header, parts, part, pin, query, cell, token, get, records, config: records.config };
  const { name, ...opened } = await OPENERS[id.split('.')[0]](context);
  return { part: id, token_name: name ?? nameToken({ prefix, grid }, opened.token), ...opened };
}
