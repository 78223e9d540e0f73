// What is measured together, and the rows that come of it. Pure.
import { judge } from '../statistics.mjs';

/** In flight: one tells what is between client and GPU, many what the server can do. */
export const IN_FLIGHT = [1, 16];
/** Where the model's sessions are: `none` in the server, `isolated` in the process of their device,
 * which is the default. */
export const MODES = ['none', 'isolated'];
export const DIRECT = 'ONNX Runtime alone, I/O binding';

const PATH_TITLES = { grpc: 'gRPC', rest: 'REST binary' };
const MODE_TITLES = {
  none: 'in the server',
  isolated: 'isolated',
  isolation: "isolation's cost",
};
const P50 = { metric: 'p50', target: { relation: '<=', limit: 60 } };
const RATE = { metric: 'rate', target: { relation: '>=', limit: 0.95 } };

/** A model with a batch and so many in flight, for each of them: {id, model, batch, inFlight}.
 * Those whose id holds one of the comma-separated `only` words. Throws where none does. */
export function groupsOf(models, { batches, only }) {
  const groups = models.flatMap((model) =>
    batches.flatMap((batch) =>
      IN_FLIGHT.map((inFlight) => {
        return { id: `${model.name}-b${batch}-x${inFlight}`, model, batch, inFlight };
      }),
    ),
  );
  const words = only?.split(',').filter((word) => word !== '') ?? [''];
  const chosen = groups.filter(({ id }) => words.some((word) => id.includes(word)));
  if (chosen.length > 0) return chosen;
  throw new Error(`--only ${only} matches none of ${groups.map(({ id }) => id).join(', ')}`);
}

/** The name that a group's model has in the server: each number of instances is a model. */
export const servedName = ({ model, inFlight }) => `${model.name}_x${inFlight}`;

/** What is measured of Serval in a group: {key, path, mode} each, in the order of measuring. */
export function sidesOf({ paths, modes }) {
  return paths.flatMap((path) => modes.map((mode) => ({ key: `${path}-${mode}`, path, mode })));
}

/** The rows that a group has, without figures: of each side against the runtime alone, and what
 * isolation costs on each path (`mode` is 'isolation'), where both modes are measured. */
export function plannedRows({ id, model, batch, inFlight }, { paths, modes }) {
  const judged = inFlight === 1 ? P50 : RATE;
  const row = (path, mode, of) => ({
    id: `${id}-${path}-${mode}`,
    title: `${model.title} b${batch} x${inFlight}, ${PATH_TITLES[path]}, ${MODE_TITLES[mode]}`,
    place: { model: model.title, batch, inFlight, path, mode },
    ...judged,
    ...of,
  });
  const compared = modes.length === MODES.length ? paths : [];
  return [
    ...sidesOf({ paths, modes }).map(({ path, mode }) => row(path, mode, { reference: DIRECT })),
    ...compared.map((path) => row(path, 'isolation', { reference: 'in the server', target: null })),
  ];
}

/** plannedRows with the figures of `rounds`, each {key: {reference, serval}}: samples. */
export function judgedRows(group, options, rounds) {
  return plannedRows(group, options).map((row) => {
    const { path, mode } = row.place;
    const pairs =
      mode === 'isolation'
        ? rounds.map((round) => ({
            reference: round[`${path}-none`].serval,
            serval: round[`${path}-isolated`].serval,
          }))
        : rounds.map((round) => round[`${path}-${mode}`]);
    return { ...judge(row, pairs), metric: row.metric, place: row.place };
  });
}

/** Words of a row's place, for tables. */
export const titlesOf = ({ path, mode }) => ({
  path: PATH_TITLES[path],
  mode: MODE_TITLES[mode],
});
