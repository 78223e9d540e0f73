// Loads the models of `serval check`: each version once, one at a time; the steps of ensembles stay
// loaded until the ensembles are checked. Control plane, main thread.
import type { DesiredModel } from '../../models/registry/desired.js';
import { Ensembles } from '../../models/registry/ensembles/ensembles.js';
import type { Loads } from '../../models/registry/loads.js';
import { indexModels, Servables, type DesiredServable } from '../../models/registry/servables.js';
import type { Servable } from '../../models/registry/snapshot-build.js';
import type { CheckedVersion } from './check-report.js';

/** In the order of the models. */
export async function checkedModels(
  models: readonly DesiredModel[],
  loads: Pick<Loads, 'load' | 'unload'>,
): Promise<readonly CheckedVersion[]> {
  const servables = new Servables({ loadRetries: 0, loadRetryMs: 0 });
  const ensembles = new Ensembles(servables);
  const wanted = ensembles.want(indexModels(models, { models: new Map(), versions: new Map() }));
  const held: Servable[] = [];
  const results = new Map<string, readonly CheckedVersion[]>();
  const check = async ({ name, problem = '' }: DesiredModel, isHeld: boolean): Promise<void> => {
    const versions = wanted.versions.get(name) ?? [];
    const checked: CheckedVersion[] = [];
    for (const one of versions) {
      const after = await loaded(one, servables, loads);
      checked.push(resultOf(after));
      if (after.loaded === undefined) continue;
      if (isHeld) held.push(after);
      else await unloaded(after, servables, loads);
    }
    results.set(name, versions.length > 0 ? checked : [unserved(name, problem)]);
  };
  const [ensembleModels, plain] = [
    models.filter(isEnsemble),
    models.filter((one) => !isEnsemble(one)),
  ];
  const steps = new Set(ensembleModels.flatMap(stepsOf));
  for (const model of plain) await check(model, steps.has(model.name));
  const names = new Set(models.map(({ name }) => name));
  for (;;) {
    ensembles.rebind(names);
    const next = ensembleModels.find(
      ({ name }) => !results.has(name) && !ensembles.waiting.has(name),
    );
    if (next === undefined) break;
    await check(next, true);
  }
  // Ensembles were loaded after their steps.
  for (const one of held.reverse()) await unloaded(one, servables, loads);
  return models.flatMap(({ name }) => results.get(name) ?? []);
}

function isEnsemble({ versions }: DesiredModel): boolean {
  return versions.some(({ ensemble }) => ensemble !== undefined);
}

function stepsOf({ versions }: DesiredModel): readonly string[] {
  return versions.flatMap(({ ensemble = [] }) => ensemble.map(({ model }) => model));
}

async function loaded(
  one: DesiredServable,
  servables: Servables,
  loads: Pick<Loads, 'load'>,
): Promise<Servable> {
  servables.add(one);
  const before = servables.find(one);
  if (before?.state === 'START') servables.change(one, await loads.load(before));
  const after = servables.find(one);
  if (after === undefined) throw new Error(`model '${one.name}' is not in the table`);
  return after;
}

async function unloaded(
  one: Servable,
  servables: Servables,
  loads: Pick<Loads, 'unload'>,
): Promise<void> {
  servables.remove(one);
  await loads.unload(one);
}

function resultOf({ name, desired, state, loaded: found, errorMessage }: Servable): CheckedVersion {
  const { version, format, spec } = desired;
  return {
    name,
    version,
    ok: state === 'AVAILABLE',
    format: found?.found?.format ?? format,
    path: spec.path ?? '',
    reason: errorMessage,
    signatures: found?.signatures ?? [],
  };
}

function unserved(name: string, problem: string): CheckedVersion {
  const reason = problem || 'no version found';
  return { name, version: '', ok: false, format: '', path: '', reason, signatures: [] };
}
