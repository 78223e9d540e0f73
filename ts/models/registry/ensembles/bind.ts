// Binds the steps of an ensemble to loaded versions of their models. Pure functions of the
// registry's table; control plane.
import type { TensorOverride } from '../../../model/engine-api.js';
import { compareVersions } from '../../../model/version-policy.js';
import { read } from '../../../protobuf/schema.js';
import type { EnsembleStep } from '../../config/ensembles/steps.js';
import type { DesiredVersion } from '../desired.js';
import type { DesiredServable } from '../servables.js';
import type { Servable } from '../snapshot-build.js';

/** The registry's knowledge of a step's model. */
export interface StepModel {
  /** undefined: it is not desired. */
  readonly desired: readonly DesiredServable[] | undefined;
  /** Why it has no desired version; "" if it has one or nothing is known. */
  readonly problem: string;
  readonly servables: readonly Servable[];
  /** It is an ensemble whose own steps are still moving. */
  readonly waits: boolean;
}

/** The loaded version of each step; or the reason why a step has none. */
export type Binding =
  | { readonly kind: 'bound'; readonly steps: readonly Servable[] }
  /** A step's model is still moving. */
  | { readonly kind: 'waiting'; readonly text: string }
  | { readonly kind: 'problem'; readonly text: string };

/** A problem of one step counts more than another one that moves. */
export function bindSteps(
  { ensemble = [], config }: Pick<DesiredVersion, 'ensemble' | 'config'>,
  modelOf: (name: string) => StepModel,
): Binding {
  const found = ensemble.map((step, i) => bindStep(step, i, modelOf(step.model)));
  const rowsMax = read.int(config, 'max_batch_size');
  const steps: Servable[] = [];
  let waiting: Binding | undefined;
  for (const [i, one] of found.entries()) {
    if (one.kind === 'problem') return one;
    if (one.kind === 'waiting') waiting ??= one;
    if (one.kind !== 'bound') continue;
    const [servable] = one.steps;
    const rows = read.int(servable?.desired.config, 'max_batch_size');
    if (rows > 0 && rows < rowsMax) {
      const step = `step ${i + 1}, model '${ensemble[i]?.model ?? ''}'`;
      const text = `max_batch_size: expected at most ${rows}, that of ${step}, got ${rowsMax}`;
      return { kind: 'problem', text };
    }
    steps.push(...one.steps);
  }
  return waiting ?? { kind: 'bound', steps };
}

function bindStep({ model, version }: EnsembleStep, index: number, known: StepModel): Binding {
  const what = version === '' ? `model '${model}'` : `version ${version} of model '${model}'`;
  const need = `step ${index + 1} needs ${what}`;
  const isMeant = (one: { readonly version: string }): boolean =>
    version === '' || one.version === version;
  const servables = known.servables.filter(({ desired }) => isMeant(desired));
  const keys = new Set(known.desired?.map(({ key }) => key));
  const chosen = newest(servables, keys);
  if (chosen?.demand !== undefined) {
    const text = `${need}, which loads on demand: steps of ensembles need load_mode eager`;
    return { kind: 'problem', text };
  }
  if (chosen !== undefined) return { kind: 'bound', steps: [chosen] };
  const desired = known.desired?.filter(isMeant) ?? [];
  const isMoving = desired.some(({ key }) => {
    const state = servables.find((one) => one.key === key)?.state;
    return state === undefined || state === 'START' || state === 'LOADING';
  });
  if (known.waits || isMoving) return { kind: 'waiting', text: `${need}, which is being loaded` };
  return { kind: 'problem', text: `${need}, which ${whyNot(known, servables, version)}` };
}

/** The highest version that serves; of equal ones, the desired one. */
function newest(servables: readonly Servable[], keys: ReadonlySet<string>): Servable | undefined {
  return servables
    .filter(({ state, loaded }) => state === 'AVAILABLE' && loaded !== undefined)
    .sort(
      (a, b) =>
        compareVersions(b.desired.version, a.desired.version) ||
        Number(keys.has(b.key)) - Number(keys.has(a.key)),
    )[0];
}

function whyNot(known: StepModel, servables: readonly Servable[], version: string): string {
  const failed = servables.find(({ state, unloaded }) => state === 'END' && !unloaded);
  if (failed !== undefined) return `failed to load: ${failed.errorMessage}`;
  if (known.desired === undefined) return 'is not loaded';
  if (known.problem !== '') return `cannot be loaded: ${known.problem}`;
  const others = known.desired.map((one) => one.version);
  if (version === '' || others.length === 0) return 'has no version that is loaded';
  return `is not loaded: the loaded versions are ${others.join(', ')}`;
}

/** The version with its steps bound; its specification then names their handles. */
export function boundVersion(version: DesiredVersion, steps: readonly Servable[]): DesiredVersion {
  const { ensemble = [], spec } = version;
  const outputs = spec.outputs ?? [];
  // Triton also overwrites the ensemble's own value.
  const decoupled = steps.some(({ desired }) => desired.spec.decoupled === true);
  return {
    ...version,
    spec: {
      ...spec,
      ...(decoupled && { decoupled }),
      ensemble: ensemble.map(({ inputs, outputs: links }, i) => ({
        handle: steps[i]?.loaded?.handle ?? 0,
        inputs,
        outputs: links,
      })),
      outputs: outputs.map((output) => withLabels(output, ensemble, steps)),
    },
  };
}

/** An output without labels has those of the step that writes it, as in Triton. */
function withLabels(
  output: TensorOverride,
  ensemble: readonly EnsembleStep[],
  steps: readonly Servable[],
): TensorOverride {
  if ((output.labels ?? []).length > 0) return output;
  for (const [i, { outputs }] of ensemble.entries()) {
    const link = outputs.find(({ tensor }) => tensor === output.name);
    if (link === undefined) continue;
    const own = steps[i]?.desired.spec.outputs?.find(({ name }) => name === link.name);
    return { ...output, labels: own?.labels ?? [] };
  }
  return output;
}

/** The version as one that no load can help. */
export function problemVersion(version: DesiredVersion, problem: string): DesiredVersion {
  return { ...version, problem };
}

/** Whether a step of a loaded ensemble no longer serves, so that the ensemble must go, too. */
export function isStale(
  { desired }: Pick<Servable, 'desired'>,
  modelOf: (name: string) => Pick<StepModel, 'servables'>,
): boolean {
  const { ensemble = [], spec } = desired;
  return (spec.ensemble ?? []).some(({ handle }, i) => {
    const { servables } = modelOf(ensemble[i]?.model ?? '');
    return !servables.some(
      ({ state, loaded }) => state === 'AVAILABLE' && loaded?.handle === handle,
    );
  });
}
