// Builds HTML and SVG text: elements whose texts and attributes are escaped here and nowhere else.
// Control plane; pure.

/** Finished markup made by h(). Plain strings are texts and are escaped. */
export class Markup {
  constructor(readonly text: string) {}
}

export type Child = Markup | string | number | undefined | readonly Child[];
export type Attributes = Readonly<Record<string, string | number | undefined>>;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Control characters that HTML does not allow, and bidirectional controls. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Elements without content and end tag. */
const VOID = new Set(['meta', 'br', 'circle', 'line', 'rect', 'path']);

export const escaped = (text: string): string =>
  text.replace(HIDDEN, '\ufffd').replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '');

function textOf(child: Child): string {
  if (child === undefined) return '';
  if (child instanceof Markup) return child.text;
  if (Array.isArray(child)) return child.map(textOf).join('');
  return escaped(String(child));
}

/** An element. Undefined attributes are omitted; SVG elements that have a title get an end tag. */
export function h(name: string, attributes: Attributes = {}, ...children: Child[]): Markup {
  const written = Object.entries(attributes)
    .flatMap(([key, value]) => (value === undefined ? [] : ` ${key}="${escaped(String(value))}"`))
    .join('');
  const inside = children.map(textOf).join('');
  if (VOID.has(name) && inside === '') {
    return new Markup(`<${name}${written}${name === 'meta' || name === 'br' ? '>' : '/>'}`);
  }
  return new Markup(`<${name}${written}>${inside}</${name}>`);
}

/** Unescaped markup: a style sheet. */
export const raw = (text: string): Markup => new Markup(text);
