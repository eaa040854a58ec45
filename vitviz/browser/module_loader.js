// Load modules whose sources lie in a document or notebook, where no server answers their imports.

const ADDRESSES = /(\bfrom |\bnew URL\()'([^']+)'(, import\.meta\.url)?/g;

/** Return the address of each module of [[name, source], …]; a module stands after those that it imports. */
export function link(modules) {
  const urls = {};
  for (const [name, source] of modules) {
    const linked = source.replace(ADDRESSES, (all, before, other) => (urls[other] ? `${before}'${urls[other]}'` : all));
    urls[name] = URL.createObjectURL(new Blob([linked], { type: 'text/javascript' }));
  }
  return urls;
}

/** Return the bytes of a text: gzip in base64. */
export async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
