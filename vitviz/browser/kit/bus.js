// Message bus between the views of one page, without the server; all views share this module.
//
//   hover   {group, query}    hovered query of an explorer, shown by all explorers of its group
//   options {group, pin, ...} view options of a group of explorers (stored for later explorers)
//   strip   {tag, arrays}     one head in all layers, by tag (stored while a view owns it)
//   wish    {group, layer or head}    a map that a user points at, for the view that has its weights
//   map     {group, header, layer}    another layer, head or step for the explorers of a group, until the server's message
//   bars    {key, names, now, before, strong}    class probabilities for the bars of that key, until then
//   step    {model, step, address}    weights of a step to which the sidebar's slider is dragged
//   file    File               an image that a user opened, for the other views of the page
//   moment  {run, step}       selected step of a run; step null: the newest
//
// A listener does not receive its own messages.

const listeners = new Map();
const stored = new Map();

/** Subscribe to a topic as `self` (any object); returns a function that unsubscribes. */
export function listen(topic, self, heard) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  const listener = { self, heard };
  listeners.get(topic).add(listener);
  return () => listeners.get(topic).delete(listener);
}

/** Send a message to all other listeners of a topic. */
export function tell(topic, self, news) {
  for (const listener of [...(listeners.get(topic) ?? [])]) if (listener.self !== self) listener.heard(news);
}

/** Store a value under a topic and a name for `self` until its last owner drops it. */
export function keep(topic, name, self, value) {
  const id = `${topic}:${name}`;
  if (!stored.has(id)) stored.set(id, { owners: new Set() });
  const entry = stored.get(id);
  entry.value = value;
  entry.owners.add(self);
}

export const recall = (topic, name) => stored.get(`${topic}:${name}`)?.value;

/** Drop `self`'s ownership of a stored value. */
export function drop(topic, name, self) {
  const id = `${topic}:${name}`;
  const entry = stored.get(id);
  entry?.owners.delete(self);
  if (entry && !entry.owners.size) stored.delete(id);
}
