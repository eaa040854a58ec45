// Draw a view with its texts, as the page shows it, on a canvas: a copy of its elements in an SVG image.

import { el } from './dom.js';

/** Return the URL's content as a data URL. */
async function embed(url) {
  const reader = new FileReader();
  const read = new Promise((resolve) => {
    reader.onload = resolve;
  });
  reader.readAsDataURL(await (await fetch(url)).blob());
  await read;
  return reader.result;
}

/** Return the page's upright font faces of some families, with the fonts in them. */
async function embedFonts(families) {
  const faces = [...document.styleSheets].flatMap((sheet) =>
    [...sheet.cssRules]
      .filter(
        (rule) => rule instanceof CSSFontFaceRule && families.includes(rule.style.fontFamily.replace(/["']/g, '')),
      )
      .map((rule) => [rule, sheet.href ?? document.baseURI]),
  );
  const texts = faces
    .filter(([rule]) => rule.style.fontStyle !== 'italic')
    .map(async ([rule, base]) => {
      const [, address] = rule.style.src.match(/url\(["']?([^"')]+)/);
      return rule.cssText.replace(/src:[^;]+;/, `src: url(${await embed(new URL(address, base))});`);
    });
  return (await Promise.all(texts)).join('\n');
}

/** Return the style sheet of a view's copy: its rules, fonts, and the variables that they use. */
export async function readStyles(root) {
  const place = root.getRootNode();
  const sheets = [...place.styleSheets, ...place.adoptedStyleSheets];
  const rules = sheets.flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join('\n');
  const style = getComputedStyle(root);
  const variables = [...new Set(rules.match(/--[\w-]+/g))]
    .map((name) => [name, style.getPropertyValue(name)])
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}: ${value};`);
  const fonts = await embedFonts(style.fontFamily.replace(/["']/g, '').split(/, */));
  return `${fonts}\n${rules}\n.vv-copy { ${variables.join(' ')} }`;
}

/** Copy a view; canvases become boxes with their image. */
function copyView(root) {
  const copy = root.cloneNode(true);
  const copies = copy.querySelectorAll('canvas');
  for (const [i, node] of root.querySelectorAll('canvas').entries()) {
    if (!node.offsetWidth) continue;
    const { display, width, height } = getComputedStyle(node);
    const background = `0 0 / 100% 100% url(${node.toDataURL()})`;
    Object.assign(copies[i].style, { display, width, height, background });
  }
  return copy;
}

/** Draw a view on a canvas context, with a margin in px around it and the style sheet of `readStyles`. */
export async function drawView(ctx, root, styles, margin) {
  const { width, height } = ctx.canvas;
  const page = el(null, 'div', { class: 'vv-copy', style: `padding: ${margin}px` });
  el(page, 'style', {}, styles);
  page.append(copyView(root));
  const rem = getComputedStyle(document.documentElement).fontSize;
  const image = new Image();
  const loaded = new Promise((resolve, reject) => Object.assign(image, { onload: resolve, onerror: reject }));
  const markup = new XMLSerializer().serializeToString(page);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" style="font-size: ${rem}">` +
      `<foreignObject width="100%" height="100%">${markup}</foreignObject></svg>`,
  )}`;
  await loaded;
  ctx.drawImage(image, 0, 0);
}
