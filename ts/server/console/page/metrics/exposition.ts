// Reads what is needed of a page of metrics in Prometheus's text format, and what its histograms
// say. Pure; the browser's thread.

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by name. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { '\\\\': '\\', '\\"': '"', '\\n': '\n' };

const unescaped = (text: string): string =>
  text.replace(/\\[\\"n]/g, (found) => ESCAPES[found] ?? found);
const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

function labelsOf(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(LABEL)].map(([, name = '', value = '']) => [
    name,
    unescaped(value),
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

function read(text: string, isWanted: (line: string) => boolean): Samples {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || !isWanted(line)) continue;
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
    if (name === '') continue;
    const list = samples.get(name) ?? [];
    list.push({ labels: labelsOf(labels), value: Number(value.replace('Inf', 'Infinity')) });
    samples.set(name, list);
  }
  return samples;
}

/** The samples of one model ("" = those that are of none). A page of a thousand models is long:
 * lines of others are passed over before anything of them is read. */
export function samplesOf(text: string, model: string): Samples {
  const wanted = `model="${escaped(model)}"`;
  return read(text, (line) => (model === '' ? !line.includes('model="') : line.includes(wanted)));
}

/** The samples of the metrics with these names, of all models. */
export function samplesNamed(text: string, names: ReadonlySet<string>): Samples {
  return read(text, (line) => names.has(/^\w+/.exec(line)?.[0] ?? ''));
}

/** The samples by the value of a label. */
export function byLabel(samples: Samples, label: string): ReadonlyMap<string, Samples> {
  const all = new Map<string, Map<string, Sample[]>>();
  for (const [name, list] of samples) {
    for (const sample of list) {
      const value = sample.labels[label];
      if (value === undefined) continue;
      const own = all.get(value) ?? new Map<string, Sample[]>();
      all.set(value, own);
      const of = own.get(name) ?? [];
      own.set(name, of);
      of.push(sample);
    }
  }
  return all;
}

/** Sums all versions and reasons. */
export const total = (samples: Samples, name: string): number =>
  (samples.get(name) ?? []).reduce((sum, { value }) => sum + value, 0);

/** Counts up to each bound, the last one Infinity. */
export interface Histogram {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

export const EMPTY: Histogram = { bounds: [], counts: [] };

/** Sums all versions; counts of single buckets, not cumulative ones. */
export function histogramOf(samples: Samples, name: string): Histogram {
  const byBound = new Map<number, number>();
  for (const { labels, value } of samples.get(`${name}_bucket`) ?? []) {
    const bound = Number((labels['le'] ?? '').replace('+Inf', 'Infinity'));
    byBound.set(bound, (byBound.get(bound) ?? 0) + value);
  }
  const bounds = [...byBound.keys()].sort((a, b) => a - b);
  let below = 0;
  const counts = bounds.map((bound) => {
    const upTo = byBound.get(bound) ?? 0;
    const count = upTo - below;
    below = upTo;
    return count;
  });
  return { bounds, counts };
}

/** The difference between two pages; all of `now` if the server restarted in between. */
export function since(now: Histogram, before: Histogram): Histogram {
  const at = (bound: number): number => before.counts[before.bounds.indexOf(bound)] ?? 0;
  const counts = now.counts.map((count, index) => count - at(now.bounds[index] ?? 0));
  return counts.some((count) => count < 0) ? now : { bounds: now.bounds, counts };
}

/** The value that this part of all is below, on a line inside its bucket; NaN where there are
 * none. Source: Prometheus, histogram_quantile(). */
export function quantile({ bounds, counts }: Histogram, part: number): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return NaN;
  const rank = part * all;
  let below = 0;
  for (const [at, count] of counts.entries()) {
    if (below + count >= rank && count > 0) {
      const low = at === 0 ? 0 : (bounds[at - 1] ?? 0);
      const high = bounds[at] ?? Infinity;
      return Number.isFinite(high) ? low + (high - low) * ((rank - below) / count) : low;
    }
    below += count;
  }
  return bounds.at(-2) ?? NaN;
}
