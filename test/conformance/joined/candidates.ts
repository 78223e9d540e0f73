// All models of this project: those of the fixture scripts, the examples, and TensorFlow Serving's
// own beside the checkout. Each is loaded as a repository serves it without a configuration, and a
// second time with batching enabled. Test time only.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { importedSpec } from '../../../ts/importers/run/imported-spec.js';
import { autoBatching } from '../../../ts/models/config/engine-settings.js';
import type { LoadedModel, ModelSpec } from '../../../ts/model/engine-api.js';
import { createEngine, type Engine } from '../../../ts/engine/engine.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { importTensorFlow } from '../../../ts/importers/tensorflow/index.js';
import { versionFolders } from '../../unit/importers/tensorflow/load/support.js';
import { goldenFolder } from '../golden-folder.js';

export interface Candidate {
  readonly name: string;
  /** A .onnx file, or the folder of a TensorFlow model. */
  readonly path: string;
}

const SAVED = ['saved_model.pb', 'saved_model.pbtxt', 'frozen.pb', 'export', 'export.meta'];
const GOLDENS = [
  'tensorflow',
  'decoders',
  'windows',
  'keras',
  'estimators 1.15',
  'estimators 2.8',
] as const;

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const pathsIn = (folder: string): string[] =>
  isFolder(folder)
    ? readdirSync(folder)
        .map((name) => join(folder, name))
        .sort()
    : [];

function onnxFiles(folder: string): Candidate[] {
  const isFile = (path: string): boolean => path.endsWith('.onnx');
  return pathsIn(folder).flatMap((path) => {
    const inside = [...pathsIn(path), ...pathsIn(join(path, '1'))].filter(isFile);
    return inside.map((file) => ({ name: nameBelow(folder, path), path: file }));
  });
}

const nameBelow = (folder: string, path: string): string => path.slice(folder.length + 1);
const isSaved = (path: string): boolean => SAVED.some((name) => existsSync(join(path, name)));

/** Models of one set, or the reason why there are none. */
export interface CandidateSet {
  readonly set: string;
  readonly models: readonly Candidate[];
  readonly missing?: string;
}

/** Every set, those of the fixture scripts first. */
export function candidateSets(): CandidateSet[] {
  const made = GOLDENS.map((set): CandidateSet => {
    const folder = goldenFolder(set);
    if (folder === undefined) return { set, models: [], missing: 'TensorFlow cannot be had here' };
    const models = join(folder, 'models');
    const paths = pathsIn(models).map((path) => join(path, '1'));
    const named = (path: string): Candidate => ({
      name: nameBelow(models, path).slice(0, -2),
      path,
    });
    return { set, models: paths.filter(isSaved).map(named) };
  });
  const trained = (['classifiers', 'boosters'] as const).map((set): CandidateSet => {
    const folder = goldenFolder(set);
    if (folder === undefined) return { set, models: [], missing: 'what trains cannot be had here' };
    return { set, models: onnxFiles(folder) };
  });
  const examples = join(packageRoot(), 'examples', 'models');
  const shared = join(packageRoot(), '..', 'shared', 'models');
  const beside = versionFolders(shared).filter(isSaved);
  return [
    ...made,
    ...trained,
    { set: 'examples', models: onnxFiles(examples) },
    {
      set: 'shared',
      models: beside.map((path) => ({ name: nameBelow(shared, path), path })),
      ...(beside.length === 0 ? { missing: `${shared} is not on this machine` } : {}),
    },
  ];
}

/**
 * The engine's findings about a model without a configuration (`plain`) and with batching enabled.
 */
export interface Verdict {
  readonly plain: LoadedModel;
  readonly asked: LoadedModel;
}

const ROWS_MAX = 4;

/** Errors are those of the import and of the load. */
export async function verdictOf(
  engine: Engine,
  { path, name }: Candidate,
  workFolder: string,
): Promise<Verdict> {
  const spec: ModelSpec = { name, version: '1', backend: 'onnxruntime', path };
  const whole = path.endsWith('.onnx')
    ? spec
    : importedSpec(spec, importTensorFlow(path, { workFolder }));
  const { batch } = autoBatching(ROWS_MAX);
  if (batch === undefined) throw new Error('no batching by default');
  const load = async (one: ModelSpec): Promise<LoadedModel> => {
    const loaded = await engine.control.load(one);
    await engine.control.unload(loaded.handle);
    return loaded;
  };
  const asked = await load({ ...whole, batch: { ...batch, mode: 'on' } });
  return { plain: await load({ ...whole, batch }), asked };
}

export const openEngine = (): Promise<Engine> => createEngine({ intraOpThreads: 1 });
