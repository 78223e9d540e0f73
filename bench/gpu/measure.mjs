// Measures groups in their order: servers for each model, the runtime alone for each group, rounds
// of both in turns. A failure becomes a row with its error; the others continue. Control plane.
import { sample } from '../runner.mjs';
import { groupSeconds, judgedRows, plannedRows, sidesOf } from './groups.mjs';
import { modelFolder } from './models/index.mjs';
import { openSide, pinnedFallbacks, startDirect, startServer } from './sides.mjs';

/**
 * Measures R a R b ..., `rounds` times, after a warm-up of each; with `oneReference` R a b ....
 * `sides`: key -> side. Resolves to the rounds, {key: {reference, serval}}: samples without CPU
 * time, because several processes use it.
 */
export async function takeTurns(options, reference, sides) {
  const { rounds, seconds, warmSeconds, oneReference = false } = options;
  const measured = async (side, length) => {
    const { cpuUs: _, ...figures } = await sample(side, length);
    return figures;
  };
  for (const side of [reference, ...sides.values()]) await measured(side, warmSeconds);
  const found = [];
  for (let i = 0; i < rounds; i += 1) {
    const round = {};
    let alone;
    for (const [key, side] of sides) {
      if (alone === undefined || !oneReference) alone = await measured(reference, seconds);
      round[key] = { reference: alone, serval: await measured(side, seconds) };
    }
    found.push(round);
  }
  return found;
}

async function measureGroup(context, group, folder, servers) {
  const { options } = context;
  const direct = await startDirect(context, group, folder);
  const sides = new Map();
  try {
    for (const { key, path, mode } of sidesOf(group, options)) {
      sides.set(key, await openSide(context, servers.get(mode), path, group, direct.answer));
    }
    return judgedRows(group, options, await takeTurns(options, direct, sides));
  } finally {
    for (const side of sides.values()) await side.close?.();
    await direct.close();
  }
}

const failedRows = (group, options, error) =>
  plannedRows(group, options).map((row) => ({
    ...row,
    form: row.metric === 'p50' ? 'us' : 'ratio',
    ok: false,
    error: error.message,
  }));

/**
 * Measures the groups, all of one model, and returns their rows; calls `progress(text)` for each.
 */
async function measureModel(context, groups, progress) {
  const { options, elapsedSeconds } = context;
  const [{ model, shape }] = groups;
  const servers = new Map();
  const rows = [];
  try {
    progress(`${model.title}: writing its file and starting its servers`);
    const folder = modelFolder(context.modelsFolder, model, shape);
    for (const mode of options.modes) {
      servers.set(mode, await startServer(context, groups, folder, mode));
    }
    for (const group of groups) {
      progress(`${group.id}`);
      if (elapsedSeconds() + groupSeconds(group, options) > options.limitSeconds) {
        const late = new Error(`not run: over the limit of ${options.limitSeconds} s`);
        rows.push(...failedRows(group, options, late));
        continue;
      }
      const measured = measureGroup(context, group, folder, servers);
      rows.push(...(await measured.catch((error) => failedRows(group, options, error))));
    }
    for (const server of servers.values()) {
      const count = await pinnedFallbacks(server);
      if (count > 0) progress(`${model.title}: ${count} tensors found no pinned memory`);
    }
    return rows;
  } catch (error) {
    const rest = groups.filter(({ id }) => !rows.some((row) => row.id.startsWith(`${id}-`)));
    return [...rows, ...rest.flatMap((group) => failedRows(group, options, error))];
  } finally {
    for (const server of servers.values()) await server.stop();
  }
}

/** Measures all groups and returns their rows. */
export async function measureGroups(context, groups, progress) {
  const { tiny } = context.options;
  const rows = [];
  for (const model of new Set(groups.map((group) => group.model))) {
    const shape = tiny ? model.tiny : model.shape;
    const own = groups
      .filter((group) => group.model === model)
      .map((group) => ({ ...group, shape, inputs: model.inputs(shape, group.batch) }));
    rows.push(...(await measureModel(context, own, progress)));
  }
  return rows;
}
