// What the views of one page tell each other, without the server. Modules are shared by all views of a page, so this
// one is the same for all of them.
//
//   hover   {group, query}    the pointer's query in an explorer: the others of its group show the same
//   options {group, pin, ...} how the explorers of a group are drawn (kept: a later explorer reads it)
//   strip   {tag, arrays}     one head in all layers, by its tag (kept while a view owns it)
//   moment  {run, step}       the step of a run that the visitor points at; step null: the newest, unmarked
//
// A listener hears what others say, never what it says itself.

const listeners = new Map();
const kept = new Map();

/** Listens on a topic as `self` (any object); returns the function that stops it. */
export function listen(topic, self, heard) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  const one = { self, heard };
  listeners.get(topic).add(one);
  return () => listeners.get(topic).delete(one);
}

/** Tells all others who listen on a topic. */
export function tell(topic, self, news) {
  for (const one of [...(listeners.get(topic) ?? [])]) if (one.self !== self) one.heard(news);
}

/** Keeps a value under a topic and a name for `self`; it goes when its last owner drops it. */
export function keep(topic, name, self, value) {
  const id = `${topic}:${name}`;
  if (!kept.has(id)) kept.set(id, { owners: new Set() });
  const entry = kept.get(id);
  entry.value = value;
  entry.owners.add(self);
}

/** What is kept, or undefined. */
export const recall = (topic, name) => kept.get(`${topic}:${name}`)?.value;

/** Gives up `self`'s share in what is kept. */
export function drop(topic, name, self) {
  const id = `${topic}:${name}`;
  const entry = kept.get(id);
  entry?.owners.delete(self);
  if (entry && !entry.owners.size) kept.delete(id);
}
