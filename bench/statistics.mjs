// Plain arithmetic over measured rounds: medians, percentiles, spreads, the value of one pair.
// Control plane, any thread, pure: no clock, no I/O.

/** Median of a non-empty list of finite numbers. Throws RangeError on an empty list. */
export function median(values) {
  return percentile(values, 50);
}

/** Percentile `p` (0..100) with linear interpolation between the two nearest ranks. */
export function percentile(values, p) {
  if (values.length === 0) throw new RangeError('percentile of no values');
  const sorted = Float64Array.from(values).sort();
  const rank = ((sorted.length - 1) * p) / 100;
  const low = Math.floor(rank);
  const high = Math.ceil(rank);
  return sorted[low] + (sorted[high] - sorted[low]) * (rank - low);
}

/** Smallest and largest of a non-empty list. */
export function spread(values) {
  if (values.length === 0) throw new RangeError('spread of no values');
  return { min: Math.min(...values), max: Math.max(...values) };
}

/**
 * Returns the figure of one round from its two samples. `rate`: requests a second of Serval / of
 * the reference. `time`: time per request, in the same way. `p50`: Serval's median latency minus
 * the reference's, in us. `p50-times`, `p99-times`, `p999-times`: Serval's percentile over the
 * reference's.
 */
export function pairValue(metric, reference, serval) {
  switch (metric) {
    case 'rate':
      return serval.perSecond / reference.perSecond;
    case 'time':
      return serval.usPerRequest / reference.usPerRequest;
    case 'p50':
      return serval.p50Us - reference.p50Us;
    case 'p50-times':
      return serval.p50Us / reference.p50Us;
    case 'p99-times':
      return serval.p99Us / reference.p99Us;
    case 'p999-times':
      return serval.p999Us / reference.p999Us;
    default:
      throw new RangeError(
        `unknown metric '${metric}': expected rate, time, p50 or p50-, p99-, p999-times`,
      );
  }
}

/**
 * The same figure by the servers' CPU time per request, which a busy machine or a slow load
 * generator distorts far less than the wall clock; null if a side has none, and for percentiles.
 */
export function cpuValue(metric, reference, serval) {
  if (!(reference.cpuUs > 0) || !(serval.cpuUs > 0)) return null;
  switch (metric) {
    case 'rate':
      return reference.cpuUs / serval.cpuUs;
    case 'time':
      return serval.cpuUs / reference.cpuUs;
    default:
      return null;
  }
}

/** Returns whether `got` meets the target; null if the row has none. */
export function meets(target, got) {
  if (target === null) return null;
  switch (target.relation) {
    case '>=':
      return got >= target.limit;
    case '<=':
      return got <= target.limit;
    case '<':
      return got < target.limit;
    default:
      throw new RangeError(`unknown relation '${target.relation}': expected >=, <= or <`);
  }
}

/** Combines the samples of one side into one sample with each member's median. */
export function medianSample(samples) {
  const result = {};
  for (const key of Object.keys(samples[0] ?? {})) {
    const values = samples.map((sample) => sample[key]).filter(Number.isFinite);
    if (values.length > 0) result[key] = median(values);
  }
  return result;
}

/** The form of a metric's figure: a difference in us, or a ratio. */
export function formOf(metric) {
  return metric === 'p50' ? 'us' : 'ratio';
}

/** Makes a row for the report from the samples of all rounds. */
export function judge(workload, rounds) {
  const values = rounds.map((r) => pairValue(workload.metric, r.reference, r.serval));
  const byCpu = rounds.map((r) => cpuValue(workload.metric, r.reference, r.serval));
  const got = median(values);
  return {
    id: workload.id,
    title: workload.title,
    reference: workload.reference,
    form: formOf(workload.metric),
    target: workload.target,
    got,
    spread: spread(values),
    gotByCpu: byCpu.includes(null) ? null : median(byCpu),
    ok: meets(workload.target, got),
    sides: {
      reference: medianSample(rounds.map((r) => r.reference)),
      serval: medianSample(rounds.map((r) => r.serval)),
    },
    rounds,
    note: workload.note ?? '',
  };
}

/** Makes a row for the report from figures that are not a ratio of two sides, such as seconds. */
export function judgeFigures({ id, title, reference = '', form, target, note = '' }, values) {
  const got = median(values);
  return {
    id,
    title,
    reference,
    form,
    target,
    got,
    spread: spread(values),
    gotByCpu: null,
    ok: meets(target, got),
    sides: {},
    rounds: values,
    note,
  };
}
