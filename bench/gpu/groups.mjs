// Groups that are measured together, and their result rows. Pure.
import { selectByWords } from '../options.mjs';
import { judge } from '../statistics.mjs';
import {
  judgedBy,
  kindGroups,
  KINDS,
  kindTitle,
  plainGroups,
  rankOf,
  referenceOf,
} from './kinds.mjs';

/**
 * The place of the model's sessions: `none` in the server, `isolated` in the process of their
 * device, which is the default.
 */
export const MODES = ['none', 'isolated'];

const PATH_TITLES = { grpc: 'gRPC', rest: 'REST binary' };
const MODE_TITLES = {
  none: 'in the server',
  isolated: 'isolated',
  isolation: "isolation's cost",
};

/** Seconds until a server is ready, and until the runtime alone is; on a machine with an H100. */
const SERVER_SECONDS = 6;
const DIRECT_SECONDS = 3;

/**
 * Returns the groups of the `kinds`: {id, kind, model, batch, inFlight} and what else their kind
 * needs. Plain ones: for each model, batch and number in flight. Keeps those that the words of
 * `only` select. Throws if none does.
 */
export function groupsOf(models, { batches, only, kinds = KINDS, paths = ['grpc'] }) {
  const groups = kinds.flatMap((kind) => {
    if (kind === 'plain') return plainGroups(models, batches);
    return paths.includes('grpc') ? kindGroups(models, kind) : [];
  });
  const chosen = selectByWords(groups, only, ({ id }) => [id]);
  if (chosen.length > 0) return chosen;
  throw new Error(`--only ${only} matches none of ${groups.map(({ id }) => id).join(', ')}`);
}

/** Returns the seconds that a group takes, without its start. */
export function groupSeconds(group, options) {
  const { rounds, seconds, warmSeconds, oneReference } = options;
  const sides = sidesOf(group, options).length;
  const references = oneReference ? 1 : sides;
  return (sides + references) * rounds * seconds + (sides + 1) * warmSeconds;
}

/**
 * Estimates the seconds of a run: all groups, their starts, and a server for each model and mode.
 * The models' files exist.
 */
export function estimateSeconds(groups, options) {
  const servers = new Set(groups.map(({ model }) => model)).size * options.modes.length;
  const measured = groups.map((group) => DIRECT_SECONDS + groupSeconds(group, options));
  return measured.reduce((sum, one) => sum + one, servers * SERVER_SECONDS);
}

/**
 * Returns the groups, in their order, that fit the time limit: the most important ones, at least
 * one.
 */
export function fittingGroups(groups, options) {
  const kept = new Set();
  for (const group of groups.toSorted((a, b) => rankOf(a) - rankOf(b))) {
    const more = [...kept, group];
    const isIn = kept.size === 0 || estimateSeconds(more, options) <= options.limitSeconds;
    if (isIn) kept.add(group);
  }
  return groups.filter((group) => kept.has(group));
}

/** The name of a group's model in the server: each configuration is a separate model. */
export const servedName = ({ kind, model, inFlight }) =>
  `${model.name}_${kind === 'graphs' || kind === 'batching' ? `${kind}_` : ''}x${inFlight}`;

/** The paths of a group: its kind's; in a quick run, REST only for single rows. */
function pathsOf({ batch, paths }, options) {
  if (paths !== undefined) return paths;
  const all = options.paths;
  return options.fewPaths && batch > 1 && all.includes('grpc') ? ['grpc'] : all;
}

/**
 * The sides of Serval that are measured in a group: {key, path, mode} each, in the order of
 * measuring.
 */
export function sidesOf(group, options) {
  return pathsOf(group, options).flatMap((path) =>
    options.modes.map((mode) => ({ key: `${path}-${mode}`, path, mode })),
  );
}

/**
 * A group's rows without figures: each side against the runtime alone, and the cost of isolation on
 * each path (`mode` is 'isolation') if both modes are measured.
 */
export function plannedRows(group, options) {
  const { id, kind, model, batch, inFlight } = group;
  const what = kind === 'plain' ? '' : `, ${kindTitle(kind)}`;
  const row = (path, mode, of) => ({
    id: `${id}-${path}-${mode}`,
    title: `${model.title} b${batch} x${inFlight}, ${PATH_TITLES[path]}${what}, ${MODE_TITLES[mode]}`,
    place: { model: model.title, kind, batch, inFlight, path, mode },
    ...judgedBy(group),
    ...of,
  });
  const compared = options.modes.length === MODES.length ? pathsOf(group, options) : [];
  const reference = referenceOf(group);
  return [
    ...sidesOf(group, options).map(({ path, mode }) => row(path, mode, { reference })),
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
export const titlesOf = ({ kind, path, mode }) => ({
  path: kind === 'plain' ? PATH_TITLES[path] : `${PATH_TITLES[path]}, ${kindTitle(kind)}`,
  mode: MODE_TITLES[mode],
});
