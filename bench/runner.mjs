// Runs one workload: opens both sides, warms them up, measures them in turns. Control plane.
import { formOf, judge } from './statistics.mjs';

const WARM_SECONDS = 1;
const OPEN_SECONDS = 3;

/**
 * Thrown if something that a workload needs is not available here: its row is omitted with the
 * reason.
 */
export class Skipped extends Error {}

/** The options of a workload: one that measures small differences needs more rounds. */
export function optionsOf({ roundsTimes = 1 }, options) {
  return { ...options, rounds: options.rounds * roundsTimes };
}

/** An upper bound on the seconds of a paired workload, for the time limit. */
export function pairSeconds({ seconds, rounds }) {
  return 2 * (rounds * seconds + WARM_SECONDS) + OPEN_SECONDS;
}

/**
 * Returns the rows of a workload. A failure becomes a row with `error`: the others still run. A
 * Skipped one becomes a row with `skipped` as well. A workload has run(context) -> rows, or
 * openServal and openReference (measured as a pair).
 */
export async function runWorkload(context, workload) {
  const { limitSeconds } = context.options;
  const seconds = pairSeconds(optionsOf(workload, context.options));
  if (context.elapsedSeconds() + seconds > limitSeconds) {
    return [failedRow(workload, new Error(`not run: over the limit of ${limitSeconds} s`))];
  }
  try {
    if (workload.run !== undefined) return await workload.run(context);
    return [judge(workload, await runPair(context, workload))];
  } catch (error) {
    return [failedRow(workload, error)];
  }
}

/** Opens both sides, measures them in turns and closes them; returns the samples of all rounds. */
export async function runPair(context, workload) {
  const serval = await workload.openServal(context, context.root);
  try {
    const reference = await workload.openReference(context, serval);
    try {
      return await alternate(optionsOf(workload, context.options), reference, serval);
    } finally {
      await reference.close();
    }
  } finally {
    await serval.close();
  }
}

/** A B A B ...: `rounds` samples of each side, after a warm-up of both. */
export async function alternate({ rounds, seconds }, reference, serval) {
  await sample(reference, WARM_SECONDS);
  await sample(serval, WARM_SECONDS);
  const samples = [];
  for (let round = 0; round < rounds; round += 1) {
    samples.push({
      reference: await sample(reference, seconds),
      serval: await sample(serval, seconds),
    });
  }
  return samples;
}

/** Takes one sample; if it fails because the server died, the error says so. */
export async function sample(side, seconds) {
  try {
    return await side.measure(seconds);
  } catch (error) {
    const ended = side.ended?.() ?? '';
    throw ended === '' ? error : new Error(`${error.message}\n${ended}`);
  }
}

function failedRow({ id, title, metric, reference = '', target = null }, error) {
  const form = metric === undefined ? undefined : formOf(metric);
  const row = { id, title, reference, form, target, ok: false, error: error.message };
  return error instanceof Skipped ? { ...row, ok: null, skipped: true } : row;
}
