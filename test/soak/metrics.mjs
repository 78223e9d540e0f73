// Parses /metrics and checks it against Prometheus's rules: families declared once, no duplicate
// samples, histograms cumulative, counters of steady models never decrease. Pure, except for the
// caller's text. Test time only.

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/**
 * Text -> [{name, labels, key, value}] with the types of the families. Throws on a line that is not
 * a sample, and on a duplicate sample or family.
 */
export function parseMetrics(text) {
  const types = new Map();
  const samples = new Map();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP')) continue;
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) {
      if (types.has(type[1])) throw new Error(`metrics: family ${type[1]} twice`);
      types.set(type[1], type[2]);
      continue;
    }
    const match = SAMPLE.exec(line);
    if (match === null) throw new Error(`metrics: no sample: ${line}`);
    const [key] = line.split(/ (?=\S+$)/);
    if (samples.has(key)) throw new Error(`metrics: ${key} twice`);
    const labels = Object.fromEntries(
      [...(match[2] ?? '').matchAll(LABEL)].map(([, name, value]) => [name, value]),
    );
    const value = Number(match[3].replace('Inf', 'Infinity'));
    samples.set(key, { name: match[1], labels, key, value });
  }
  return { types, samples };
}

/** Throws if a bucket holds fewer than the one before, or the last one does not equal the count. */
export function checkHistograms({ types, samples }) {
  const rows = [...samples.values()];
  for (const [family, type] of types) {
    if (type !== 'histogram') continue;
    const series = new Map();
    for (const { name, labels, value } of rows) {
      if (name !== `${family}_bucket`) continue;
      const { le, ...others } = labels;
      const key = JSON.stringify(others);
      series.set(key, [...(series.get(key) ?? []), [Number(le.replace('Inf', 'Infinity')), value]]);
    }
    for (const [key, buckets] of series) checkBuckets(family, key, buckets, rows);
  }
}

function checkBuckets(family, key, buckets, rows) {
  const where = `metrics: ${family} ${key}`;
  buckets.reduce(
    ([bound, before], [nextBound, value]) => {
      if (nextBound <= bound) throw new Error(`${where}: bound ${nextBound} after ${bound}`);
      if (value < before)
        throw new Error(`${where}: ${value} up to ${nextBound}, ${before} before`);
      return [nextBound, value];
    },
    [-Infinity, 0],
  );
  const [bound, last] = buckets.at(-1);
  const count = rows.find(
    ({ name, labels }) => name === `${family}_count` && JSON.stringify(labels) === key,
  );
  if (bound !== Infinity || count?.value !== last) {
    throw new Error(`${where}: ${last} up to ${bound}, count ${count?.value}`);
  }
}

/** Throws if a counter of one of `models` is lower than before, or missing. */
export function checkMonotone(before, now, models) {
  for (const [key, { name, labels, value }] of before.samples) {
    const family = name.replace(/_(bucket|count|sum)$/, '');
    const type = before.types.get(name) ?? before.types.get(family);
    if (!['counter', 'histogram'].includes(type)) continue;
    if (!models.includes(labels.model ?? labels.model_name)) continue;
    const after = now.samples.get(key)?.value;
    if (!(after >= value)) throw new Error(`metrics: ${key} went from ${value} to ${after}`);
  }
}

/** The sum of a metric's samples that have all of `labels`. */
export function sumOf({ samples }, name, labels = {}) {
  let sum = 0;
  for (const sample of samples.values()) {
    const fits = Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
    if (sample.name === name && fits) sum += sample.value;
  }
  return sum;
}
