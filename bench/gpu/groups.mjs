// Groups that are measured together, and their result rows. Pure.
import { selectByWords } from '../options.mjs';
import { judge } from '../statistics.mjs';

/**
 * Requests in flight: one shows the latency between client and GPU, many the server's throughput.
 */
export const IN_FLIGHT = [1, 16];
/**
 * The place of the model's sessions: `none` in the server, `isolated` in the process of their
 * device, which is the default.
 */
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

/**
 * Returns a group for each model, batch and number in flight: {id, model, batch, inFlight}. Keeps
 * those that the words of `only` select. Throws if none does.
 */
export function groupsOf(models, { batches, only }) {
  const groups = models.flatMap((model) =>
    batches.flatMap((batch) =>
      IN_FLIGHT.map((inFlight) => {
        return { id: `${model.name}-b${batch}-x${inFlight}`, model, batch, inFlight };
      }),
    ),
  );
  const chosen = selectByWords(groups, only, ({ id }) => [id]);
  if (chosen.length > 0) return chosen;
  throw new Error(`--only ${only} matches none of ${groups.map(({ id }) => id).join(', ')}`);
}

/** The name of a group's model in the server: each number of instances is a separate model. */
export const servedName = ({ model, inFlight }) => `${model.name}_x${inFlight}`;

/**
 * The sides of Serval that are measured in a group: {key, path, mode} each, in the order of
 * measuring.
 */
export function sidesOf({ paths, modes }) {
  return paths.flatMap((path) => modes.map((mode) => ({ key: `${path}-${mode}`, path, mode })));
}

/**
 * A group's rows without figures: each side against the runtime alone, and the cost of isolation on
 * each path (`mode` is 'isolation') if both modes are measured.
 */
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

/** Titles of a row's path and mode, for tables. */
export const titlesOf = ({ path, mode }) => ({
  path: PATH_TITLES[path],
  mode: MODE_TITLES[mode],
});
