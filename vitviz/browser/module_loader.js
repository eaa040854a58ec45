// Load modules whose sources lie in a document or notebook, where no server answers their imports.

/** Return the address of each module of [[name, source], …]; a module stands after those that it imports. */
export function link(modules) {
  const urls = {};
  for (const [name, source] of modules) {
    const linked = source.replace(/(\bfrom ')([^']+)'/g, (all, from, other) =>
      urls[other] ? `${from}${urls[other]}'` : all,
    );
    urls[name] = URL.createObjectURL(new Blob([linked], { type: 'text/javascript' }));
  }
  return urls;
}
