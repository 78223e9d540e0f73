// Drawings: bars with labels, lines over time, columns of a histogram. Each says in words what it
// shows. The browser's thread; knows no server.
import { h, short, svg } from './dom.js';

const WIDTH = 360;
const HEIGHT = 110;
const LEFT = 44;
const BOTTOM = 16;
const TOP = 6;

export interface Bar {
  readonly label: string;
  readonly score: number;
}

/** Horizontal bars; negative ones are of another colour. */
export function bars(scores: readonly Bar[]): HTMLElement {
  const most = Math.max(...scores.map(({ score }) => Math.abs(score)), 1e-30);
  const rows = scores.map(({ label, score }) => {
    const bar = h(score < 0 ? 'span.bar.negative' : 'span.bar');
    bar.style.width = `${(Math.abs(score) / most) * 100}%`;
    return h(
      'li',
      {},
      h('span.label', { title: label }, label),
      h('span.track', {}, bar),
      h('span.number', {}, String(Number(score.toPrecision(4)))),
    );
  });
  return h('ol.bars', { 'aria-label': 'Scores, highest first' }, ...rows);
}

export interface Line {
  readonly name: string;
  /** 1 to 3: its colour. */
  readonly colour: number;
  /** Oldest first; undefined where nothing was measured. */
  readonly values: readonly (number | undefined)[];
}

export interface Plot {
  readonly title: string;
  readonly lines: readonly Line[];
  /** Samples that the width stands for. */
  readonly samples: number;
  readonly shown: (value: number) => string;
}

const nice = (value: number): number => {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
};

function frame(most: number, shown: (value: number) => string): readonly SVGElement[] {
  const base = HEIGHT - BOTTOM;
  return [0, 0.5, 1].flatMap((part) => {
    const y = base - (base - TOP) * part;
    return [
      svg('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y, y2: y }),
      svg(
        'text',
        { class: 'axis', x: LEFT - 5, y: y + 3, 'text-anchor': 'end' },
        shown(most * part),
      ),
    ];
  });
}

/** A path; a gap where nothing was measured. */
function pathOf(values: Line['values'], samples: number, most: number): string {
  const base = HEIGHT - BOTTOM;
  const step = (WIDTH - LEFT) / Math.max(1, samples - 1);
  const from = samples - values.length;
  let isDown = false;
  const parts = values.map((value, at) => {
    if (value === undefined) {
      isDown = false;
      return '';
    }
    const x = LEFT + (from + at) * step;
    const y = base - (base - TOP) * Math.min(1, value / most);
    const word = isDown ? 'L' : 'M';
    isDown = true;
    return `${word}${x.toFixed(1)} ${y.toFixed(1)}${word === 'M' ? 'h.01' : ''}`;
  });
  return parts.join('');
}

const legend = (lines: readonly Line[], shown: Plot['shown']): HTMLElement =>
  h(
    'ul.legend',
    {},
    ...lines.map(({ name, colour, values }) => {
      const last = values.at(-1);
      const text = last === undefined ? '–' : shown(last);
      return h('li', {}, h(`span.swatch.c${colour}`), `${name} `, h('b', {}, text));
    }),
  );

/** Lines over time, the newest at the right. */
export function linePlot({ title, lines, samples, shown }: Plot): HTMLElement {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== undefined));
  const most = nice(Math.max(0, ...values));
  const drawing = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title} over time` },
    ...frame(most, shown),
    ...lines.map((line) =>
      svg('path', { class: `line c${line.colour}`, d: pathOf(line.values, samples, most) }),
    ),
    svg('text', { class: 'axis', x: WIDTH, y: HEIGHT - 3, 'text-anchor': 'end' }, 'now'),
  );
  return h('figure.plot', {}, h('figcaption', {}, title), drawing, legend(lines, shown));
}

export interface Column {
  readonly label: string;
  readonly count: number;
}

/** Vertical columns, each named under it as far as there is room. */
export function columnPlot(title: string, columns: readonly Column[]): HTMLElement {
  const most = nice(Math.max(0, ...columns.map(({ count }) => count)));
  const base = HEIGHT - BOTTOM;
  const step = (WIDTH - LEFT) / Math.max(1, columns.length);
  const every = Math.ceil(columns.length / 8);
  const drawn = columns.flatMap(({ label, count }, at) => {
    const height = (base - TOP) * (count / most);
    const x = LEFT + at * step;
    const width = Math.min(Math.max(1, step - 2), 40);
    const rect = svg(
      'rect',
      { class: 'column', x: x + 1, y: base - height, width, height },
      svg('title', {}, `${label}: ${count}`),
    );
    if (at % every !== 0) return [rect];
    const text = svg(
      'text',
      { class: 'axis', x: x + 1 + width / 2, y: HEIGHT - 3, 'text-anchor': 'middle' },
      label,
    );
    return [rect, text];
  });
  const total = columns.reduce((sum, { count }) => sum + count, 0);
  const said = `${title}: ${columns.map(({ label, count }) => `${label}: ${count}`).join(', ')}`;
  const drawing = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': said },
    ...frame(most, short),
    ...drawn,
  );
  const note = total === 0 ? h('p.note', {}, 'No data yet.') : undefined;
  return h('figure.plot', {}, h('figcaption', {}, title), drawing, note);
}
