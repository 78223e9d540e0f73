// Elements of the page, made without text that a browser would read as markup. The browser's
// thread; knows no server.

export type Child = Node | string | number | false | undefined;
type Handler = (event: never) => void;
type Attributes = Readonly<Record<string, string | number | boolean | undefined | Handler>>;

const SVG = 'http://www.w3.org/2000/svg';

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child !== undefined && child !== false) {
      element.append(typeof child === 'number' ? String(child) : child);
    }
  }
}

/** An element. `what`: "div.class.other"; functions among the attributes are listeners of the
 * event that they are named by. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  what: Tag | `${Tag}.${string}`,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const [tag = 'div', ...classes] = what.split('.');
  const element = document.createElement(tag as Tag);
  if (classes.length > 0) element.className = classes.join(' ');
  fill(element, attributes, children);
  return element;
}

/** The same of a drawing. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes, children);
  return element;
}

/** `element` with these children and no others. */
export function replace(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren();
  append(element, children);
}

export interface Tab {
  readonly id: string;
  readonly label: string;
}

/** A row of tabs; arrow keys move among them. Calls `chosen` on a change. */
export function tabRow(
  name: string,
  tabs: readonly Tab[],
  selected: string,
  chosen: (id: string) => void,
): HTMLElement {
  const buttons = tabs.map(({ id, label }) =>
    h(
      'button.tab',
      {
        type: 'button',
        role: 'tab',
        'data-tab': id,
        'aria-selected': String(id === selected),
        tabindex: id === selected ? 0 : -1,
        click: () => chosen(id),
      },
      label,
    ),
  );
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === selected);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    chosen(next.id);
    document.querySelector<HTMLElement>(`[aria-label="${name}"] [aria-selected="true"]`)?.focus();
  };
  return h('div.tabs', { role: 'tablist', 'aria-label': name, keydown: move }, ...buttons);
}

/** A number with its name; `isBad`: one that should be 0. */
export const factOf = (name: string, value: string, isBad = false): HTMLElement =>
  h('div.fact', {}, h('span', {}, name), h(isBad ? 'b.bad' : 'b', { 'data-fact': name }, value));

const UNITS = ['', 'k', 'M', 'G', 'T'];

/** "1.24k": three digits that count. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  let [unit, size] = [0, Math.abs(value)];
  while (size >= 1000 && unit < UNITS.length - 1) [unit, size] = [unit + 1, size / 1000];
  const digits = size >= 100 || Number.isInteger(size) ? 0 : size >= 10 ? 1 : 2;
  return `${value < 0 ? '-' : ''}${size.toFixed(digits)}${UNITS[unit] ?? ''}`;
}

/** Seconds as "1.2 ms". */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  if (seconds >= 1) return `${seconds.toPrecision(3)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toPrecision(3)} ms`;
  return `${Math.round(seconds * 1e6)} µs`;
}

/** Bytes as "1.2 MB". */
export const bytes = (count: number): string => `${short(count)}B`.replace(/([kMGT]?B)$/, ' $1');
