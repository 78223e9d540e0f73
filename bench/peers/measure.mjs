// Measures every server of a case in turns, and makes the rows. Control plane.
import { sample } from '../runner.mjs';
import { judge } from '../statistics.mjs';

const WARM_SECONDS = 1;

/**
 * Rounds of one sample of each side: {rounds: [{ID: sample}], errors: {ID: Error}}. A side that
 * fails is left out from then on. `sides`: {ID: side}.
 */
export async function inTurns(sides, { rounds, seconds }) {
  const errors = {};
  const round = async (length) => {
    const samples = {};
    for (const [id, side] of Object.entries(sides)) {
      if (errors[id] !== undefined) continue;
      try {
        samples[id] = await sample(side, length);
      } catch (error) {
        errors[id] = error;
      }
    }
    return samples;
  };
  await round(WARM_SECONDS);
  const taken = [];
  for (let index = 0; index < rounds; index += 1) taken.push(await round(seconds));
  return { rounds: taken, errors };
}

const rowHead = (one, other) => ({
  id: `${one.id}/${other.id}`,
  title: one.title,
  reference: other.title,
});

/** A row of the table: Serval against `other` ({id, title}) in the samples of all rounds. Pure. */
export function rowOf(one, other, rounds) {
  const pairs = rounds.map((samples) => ({ reference: samples[other.id], serval: samples.serval }));
  return judge({ ...rowHead(one, other), metric: 'rate', target: null }, pairs);
}

/** A row for a server that could not be measured. Pure. */
export function failedRow(one, other, error) {
  return { ...rowHead(one, other), form: 'ratio', target: null, ok: false, error: error.message };
}

/** The rows of a case: one for each of `others`, from what inTurns() returned. Pure. */
export function rowsOf(one, others, { rounds, errors }) {
  return others.map((other) => {
    const error = errors.serval ?? errors[other.id];
    return error === undefined ? rowOf(one, other, rounds) : failedRow(one, other, error);
  });
}
