// `serval check`: a dry run of `serval serve`. Finds the models as a server would at its start,
// loads each version once, warms it up and unloads it. Opens no port. Control plane, main thread.
import { parseServeConfig, type Config } from '../../config/config.js';
import { createLogger } from '../../base/logger.js';
import { visibleJson, visibleTexts } from '../../base/text.js';
import { createEngine, type Engine } from '../../engine/engine.js';
import { checkCacheFolder } from '../../importers/run/cache-folder.js';
import { engineOptions, importingControl, keptAlive } from '../../library/open-model.js';
import { SYSTEM_CLOCK } from '../../models/registry/clock.js';
import { Loads } from '../../models/registry/loads.js';
import { DesiredModels, type Desired } from '../../models/registry/sources/desired-models.js';
import { ExplicitModels } from '../../models/registry/sources/explicit-models.js';
import { Places } from '../../models/registry/sources/places.js';
import { warmUpWith } from '../../models/warmup/index.js';
import { asUsage } from '../usage.js';
import { checkedModels } from './check-models.js';
import { checkText, type CheckedVersion, type CheckReport } from './check-report.js';

const EXIT_FAILED = 1;
const JSON_FLAG = '--json';

/**
 * Returns the exit code: 0 if a server with these arguments would be ready, else 1. Errors:
 * UsageError; InvalidArgument: a path that does not exist.
 */
export async function checkCommand(args: readonly string[]): Promise<number> {
  const isJson = args.includes(JSON_FLAG);
  const own = args.filter((one) => one !== JSON_FLAG);
  const config = await asUsage(() => parseServeConfig(own, process.cwd()));
  const desired = await desiredBy(config);
  const report = await checked(desired, config);
  const text = isJson ? `${visibleJson(report, 2)}\n` : checkText(visibleTexts(report));
  process.stdout.write(text);
  return report.ok ? 0 : EXIT_FAILED;
}

/** Returns the models that a server would load at startup, with all of its repositories. */
async function desiredBy(config: Config): Promise<Desired> {
  const control = { ...config.control, mode: 'none', loadModels: [] } as const;
  const { batching, sources } = config;
  const explicit = new ExplicitModels(control);
  const settings = { ...config, control };
  const places = new Places(settings, {
    clock: SYSTEM_CLOCK,
    settleMs: 0,
    wants: undefined,
    takesChanges: () => true,
    autoComplete: batching.autoComplete,
    configName: sources.modelConfigName ?? '',
    batchingPerModel: batching.enabled && batching.perModel,
    configOf: () => undefined,
  });
  await places.firstLook();
  return new DesiredModels(settings, explicit).decide(places.seen, () => []);
}

async function checked(desired: Desired, config: Config): Promise<CheckReport> {
  const models: CheckedVersion[] = [];
  checkCacheFolder(config.modelCache ?? '');
  const engine = await createEngine(engineOptions(config));
  const alive = keptAlive();
  try {
    const loads = loadsOf(engine, config);
    models.push(...(await checkedModels(desired.models, loads)));
  } finally {
    engine.close();
    clearInterval(alive);
  }
  const told = new Set(models.map(({ reason }) => reason));
  const problems = desired.problems.filter((one) => !told.has(one));
  const ok = desired.faults.length === 0 && models.every((one) => one.ok);
  return { ok, models, problems: [...new Set(problems)] };
}

function loadsOf(engine: Engine, config: Config): Loads {
  const logger = createLogger({ level: 'off', format: 'text', write: () => undefined });
  const prepare = warmUpWith(
    (handle, protocol, message, signal) => engine.control.warmUp(handle, protocol, message, signal),
    config.warmupIterations,
    logger,
  );
  return new Loads({
    engine: importingControl(engine, config, logger),
    logger,
    clock: SYSTEM_CLOCK,
    prepare: config.modelWarmup ? prepare : undefined,
    line: undefined,
    places: undefined,
    isWanted: () => true,
  });
}
