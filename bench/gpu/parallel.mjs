// Several load processes at once, as one load. Pure except for the loads themselves.

/**
 * Joins the samples of loads that ran at the same time: rates are added, percentiles are those of
 * the load with the median p50, and the largest p99. At least one sample.
 */
export function joinSamples(samples) {
  const perSecond = samples.reduce((sum, one) => sum + one.perSecond, 0);
  const requests = samples.reduce((sum, one) => sum + one.requests, 0);
  const middle = samples.toSorted((a, b) => a.p50Us - b.p50Us)[samples.length >> 1];
  const largest = (key) => Math.max(...samples.map((one) => one[key]));
  return {
    ...middle,
    ...{ perSecond, usPerRequest: 1e6 / perSecond, requests },
    ...{ p99Us: largest('p99Us'), p999Us: largest('p999Us') },
  };
}

/** `loads`: measure(seconds) -> sample each. Returns measure(seconds) -> their joint sample. */
export function parallelLoad(loads) {
  if (loads.length === 1) return loads[0];
  return async (seconds) => joinSamples(await Promise.all(loads.map((load) => load(seconds))));
}
