// One plot: lines and marks over two axes, a legend, and a tooltip for each mark. Colours are
// classes of the style sheet. Control plane; pure.
import { h, type Child, type Markup } from './html.js';
import type { Scale } from './scale.js';

export const PLOT = { width: 560, height: 300, left: 64, right: 24, top: 14, bottom: 44 } as const;
export const X_FROM = PLOT.left;
export const X_TO = PLOT.width - PLOT.right;
export const Y_FROM = PLOT.height - PLOT.bottom;
export const Y_TO = PLOT.top;

export interface Mark {
  readonly x: number;
  readonly y: number;
  /** Tooltip text, in lines. */
  readonly title: string;
  /** Label beside the mark. */
  readonly label?: string | undefined;
}

export interface Series {
  readonly name: string;
  /** 0 to 7: its colour and the shape of its marks. */
  readonly style: number;
  readonly marks: readonly Mark[];
  /** A thin dashed line with small marks: the secondary value of the same series. */
  readonly isMinor?: boolean;
  readonly hasLine?: boolean;
  /** Omitted from the legend. */
  readonly isUnlisted?: boolean;
}

export interface Axis {
  readonly name: string;
  readonly scale: Scale;
  readonly shown: (value: number) => string;
}

export interface Plot {
  readonly title: string;
  readonly note?: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** A horizontal line: a bound of y. */
  readonly bound?: { readonly value: number; readonly name: string } | undefined;
}

const place = (value: number): string => value.toFixed(1);

/** A circle, a square, a triangle or a diamond around a point. */
function form(style: number, x: number, y: number, size: number): string {
  const [at, up] = [place(x), place(y)];
  const long = (size * 2).toFixed(1);
  switch (style % 4) {
    case 1:
      return `M${place(x - size)} ${place(y - size)}h${long}v${long}h-${long}z`;
    case 2:
      return `M${at} ${place(y - size * 1.25)}l${place(size * 1.2)} ${place(size * 2.1)}h-${place(size * 2.4)}z`;
    case 3:
      return `M${at} ${place(y - size * 1.35)}l${place(size * 1.35)} ${place(size * 1.35)}l-${place(size * 1.35)} ${place(size * 1.35)}l-${place(size * 1.35)} -${place(size * 1.35)}z`;
    default:
      return `M${place(x - size)} ${up}a${size} ${size} 0 1 0 ${long} 0a${size} ${size} 0 1 0 -${long} 0z`;
  }
}

function frame({ x, y }: Plot): Child {
  const middle = (Y_FROM + Y_TO) / 2;
  const rows = y.scale.ticks.map((tick) => {
    const at = place(y.scale.at(tick));
    return [
      h('line', { class: 'grid', x1: X_FROM, x2: X_TO, y1: at, y2: at }),
      h('text', { class: 'tick end', x: X_FROM - 8, y: Number(at) + 4 }, y.shown(tick)),
    ];
  });
  const columns = x.scale.ticks.map((tick) => {
    const at = place(x.scale.at(tick));
    return [
      h('line', { class: 'tickline', x1: at, x2: at, y1: Y_FROM, y2: Y_FROM + 5 }),
      h('text', { class: 'tick middle', x: at, y: Y_FROM + 18 }, x.shown(tick)),
    ];
  });
  return [
    rows,
    h('line', { class: 'base', x1: X_FROM, x2: X_TO, y1: Y_FROM, y2: Y_FROM }),
    columns,
    h('text', { class: 'axis middle', x: (X_FROM + X_TO) / 2, y: PLOT.height - 6 }, x.name),
    h(
      'text',
      { class: 'axis middle', x: 0, y: 0, transform: `translate(13 ${middle}) rotate(-90)` },
      y.name,
    ),
  ];
}

function drawn(series: Series, { x, y }: Plot): Child {
  const { style, marks, isMinor = false, hasLine = true } = series;
  const places = marks.map((mark) => ({ mark, x: x.scale.at(mark.x), y: y.scale.at(mark.y) }));
  const way = places.map((one, i) => `${i === 0 ? 'M' : 'L'}${place(one.x)} ${place(one.y)}`);
  const line = hasLine && places.length > 1;
  return [
    line ? h('path', { class: `line s${style}${isMinor ? ' minor' : ''}`, d: way.join('') }) : '',
    places.map(({ mark, ...at }) =>
      h(
        'g',
        { class: 'point' },
        h('title', {}, mark.title),
        h('circle', { class: 'near', cx: place(at.x), cy: place(at.y), r: 11 }),
        h('path', {
          class: `mark s${style}${isMinor ? ' minor' : ''}`,
          d: form(style, at.x, at.y, isMinor ? 2 : 4),
        }),
        mark.label === undefined ? '' : labelOf(mark.label, at.x, at.y),
      ),
    ),
  ];
}

/** A label next to the point, inside the plot. */
function labelOf(text: string, x: number, y: number): Markup {
  const isRight = x > X_TO - 8 * text.length - 12;
  const above = y - 9 < Y_TO + 8 ? y + 16 : y - 9;
  const at = { x: place(isRight ? x + 4 : x + 2), y: place(above) };
  return h('text', { class: `label ${isRight ? 'end' : 'start'}`, ...at }, text);
}

function boundLine({ bound, y }: Plot): Child {
  if (bound === undefined) return '';
  const at = y.scale.at(bound.value);
  if (at < Y_TO - 1 || at > Y_FROM + 1) return '';
  return [
    h('line', { class: 'bound', x1: X_FROM, x2: X_TO, y1: place(at), y2: place(at) }),
    h('text', { class: 'boundname end', x: X_TO, y: place(at - 5) }, bound.name),
  ];
}

function legend(series: readonly Series[]): Markup {
  const listed = series.filter(({ isUnlisted = false }) => !isUnlisted);
  const items = listed.map(({ name, style, isMinor = false, hasLine = true }) =>
    h(
      'li',
      {},
      h(
        'svg',
        { class: 'key', viewBox: '0 0 26 12', 'aria-hidden': 'true' },
        hasLine
          ? h('path', { class: `line s${style}${isMinor ? ' minor' : ''}`, d: 'M1 6H25' })
          : '',
        isMinor ? '' : h('path', { class: `mark s${style}`, d: form(style, 13, 6, 3.5) }),
      ),
      name,
    ),
  );
  return h('ul', { class: 'legend' }, items);
}

/** Text alternative for readers who cannot see the plot. */
function told({ title, x, y, series }: Plot): string {
  const ends = series.flatMap(({ name, marks }) => {
    const last = marks.at(-1);
    if (last === undefined) return [];
    return `${name}: ${y.shown(last.y)} at ${x.shown(last.x)}`;
  });
  return `${title}. ${y.name} over ${x.name}. ${ends.join('; ')}`;
}

export function plotFigure(plot: Plot): Markup {
  const { title, note } = plot;
  return h(
    'figure',
    { class: 'plot' },
    h('figcaption', {}, h('b', {}, title), note === undefined ? '' : h('span', {}, note)),
    h(
      'svg',
      { viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: 'img', 'aria-label': told(plot) },
      frame(plot),
      boundLine(plot),
      plot.series.map((one) => drawn(one, plot)),
    ),
    legend(plot.series),
  );
}
