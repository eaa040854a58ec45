// Open all parts of a map, as a process that a test of Python talks to: a JSON line {map, queries} begins; with {weights,
// input, masks} the engine computes the records, else each line written is a request {names}, and each line read its answer.

import { createInterface } from 'node:readline';
import { answer } from '../../vitviz/browser/engine/answer.js';
import { unpack } from '../../vitviz/browser/kit/blob.js';
import { MapModel } from '../../pages/start/map_model.js';
import { EngineRecords } from '../../pages/start/map_named_records.js';
import { openPart } from '../../pages/start/map_open.js';

const bytes = (text) => new Uint8Array(Buffer.from(text, 'base64'));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value);
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const { map, queries, weights, input, masks, config, classes } = await read();

function engineRecords() {
  const { reply } = answer({ load: 'model', bytes: bytes(weights) });
  const model = {
    ...reply,
    weights: async (names) => answer({ weights: 'model', names }).reply,
    run: async (pixels, options) => ({ tensors: answer({ run: 'model', pixels, ...options }).reply }),
  };
  return new EngineRecords(model, Object.values(unpack(bytes(input)).arrays)[0], masks);
}

const server = {
  ...{ config, classes },
  async get(names) {
    write({ names });
    const { arrays } = unpack(bytes((await read()).arrays));
    return names.map((_, i) => arrays[i]);
  },
};

const records = weights ? engineRecords() : server;
const model = new MapModel(unpack(bytes(map)));
const plain = ({ shape, data }) => ({
  shape,
  data: Array.from(data, (value) => (Number.isFinite(value) ? value : null)),
});
for (const { part, pin, ...query } of queries) {
  const { steps, tables, ...opened } = await openPart(model, part, pin, query, records);
  const written = (each) => ({ ...each, values: plain(each.values) });
  write({ ...opened, steps: steps.map(written), tables: tables.map(written) });
}
process.stdin.destroy();
