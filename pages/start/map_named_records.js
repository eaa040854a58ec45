// Named records of the map's model: the engine computes them in the browser, or a request to the server fetches them.
// A name is that of an intermediate ('blocks.3.attn[:,17]'), of 'input', or of a weight ('weight:head.weight[2]').

const NAME = /^(.*?)(?:\[(.*)\])?$/;

/** Return the part of an array that places such as ':,17' or '2:5' select, as numpy does. */
export function cut({ shape, data }, text) {
  const places = text ? text.split(',') : [];
  let starts = [0];
  let size = data.length;
  const kept = [];
  shape.forEach((length, axis) => {
    if (axis >= places.length) return kept.push(length);
    const [from, to = ''] = places[axis].split(':');
    const range = places[axis].includes(':');
    const first = Number(from || 0);
    const end = range ? Math.min(length, to === '' ? length : Number(to)) : first + 1;
    size /= length;
    starts = starts.flatMap((start) => Array.from({ length: end - first }, (_, i) => start + (first + i) * size));
    if (range) kept.push(end - first);
  });
  const values = new data.constructor(starts.length * size);
  starts.forEach((start, i) => values.set(data.subarray(start, start + size), i * size));
  return { shape: kept, data: values };
}

const split = (name) => name.match(NAME).slice(1);

/** Records that the engine computes for one input with a model's masks: each intermediate once. */
export class EngineRecords {
  /** model: of live_model.js; input: {shape, data}; changes: the masks */
  constructor(model, input, changes) {
    Object.assign(this, {
      model,
      changes,
      config: model.config,
      classes: model.classes,
      held: new Map([['input', input]]),
    });
  }

  async get(names) {
    const missing = [...new Set(names.map((name) => split(name)[0]))].filter((name) => !this.held.has(name));
    const weights = missing.filter((name) => name.startsWith('weight:'));
    const record = missing.filter((name) => !weights.includes(name));
    if (weights.length) {
      const read = await this.model.weights(weights.map((name) => name.replace('weight:', '')));
      for (const name of weights) this.held.set(name, read[name.replace('weight:', '')]);
    }
    if (record.length) {
      const { tensors } = await this.model.run(this.held.get('input').data, { record, ...this.changes });
      for (const name of record) this.held.set(name, tensors[name]);
    }
    return names.map((name) => {
      const [whole, places] = split(name);
      if (!this.held.get(whole)) throw new Error(`the model has no ${whole}`);
      return cut(this.held.get(whole), places);
    });
  }
}

const LOST_MS = 10_000; // a request that a newer run of the page has replaced

/** Records that the server sends: the names of one part together, in an answer that the page repeats in every run. */
export class ServerRecords {
  /** send(names): request these from the server */
  constructor(send) {
    Object.assign(this, { send, sent: '', answer: null, waiting: null });
  }

  /** Begin a part of a map's message; names accumulate, so that one answer holds them all. */
  begin({ header }) {
    this.cancel();
    Object.assign(this, { subject: header.subject, names: [], config: header.config });
    this.classes = header.classes?.names ?? [];
  }

  async get(names) {
    this.names = [...new Set([...this.names, ...names])];
    const text = this.names.join(' ');
    if (!this.has(names)) await this.request(text);
    const { arrays, header } = this.answer;
    return names.map((name) => arrays[header.names.indexOf(name)]);
  }

  has(names) {
    const { header } = this.answer ?? {};
    return header?.subject === this.subject && names.every((name) => header.names.includes(name));
  }

  /** Wait for an answer with all names; the page repeats the last request by itself for another image. */
  request(text) {
    return new Promise((resolve, reject) => {
      const again = () => {
        this.sent = text;
        this.send(text);
      };
      const timer = setInterval(again, LOST_MS);
      const end = (settle) => (value) => {
        clearInterval(timer);
        this.waiting = null;
        settle(value);
      };
      this.waiting = { names: this.names, resolve: end(resolve), reject: end(reject) };
      if (text !== this.sent) again();
    });
  }

  /** Take an answer {header: {subject, names, classes, error}, arrays}. */
  take({ header, arrays }) {
    if (header.subject !== this.subject) return;
    if (header.error) return this.waiting?.reject(new Error(header.error));
    this.answer = { header, arrays: header.names.map((_, i) => arrays[i]) };
    if (header.classes) this.classes = header.classes;
    if (this.waiting && this.has(this.waiting.names)) this.waiting.resolve();
  }

  cancel() {
    this.waiting?.reject(new Error('another part was opened'));
  }

  /** The part is closed: the page forgets its request. */
  end() {
    this.cancel();
    this.sent = '';
  }
}
