// Prepares the contents of a model's files for lowering: calls inlined, variables and tables
// filled. Importer's worker thread (reads assets and small parts of the checkpoint).
import { INIT_SIGNATURE } from '../../../base/signatures.js';
import type { OpTable } from '../proto/op-defs.js';
import type {
  Checkpoint,
  FlatGraph,
  LoadedGraph,
  PreparedModel,
  Ref,
  SignatureDef,
  TensorInfoDef,
} from '../types.js';
import { Flattener } from './flatten.js';
import { Functions } from './functions.js';
import { initialise, parseTensorName } from './initialise.js';
import { checkAcyclic, type EffectOf, reachable, taintedNodes } from './prune.js';

/**
 * Above this number of signatures, their needs are determined once for all of them, including the
 * nodes that make their inputs.
 */
const SIGNATURES_APART_MAX = 64;

/**
 * Errors: ModelInvalid, naming node and reason: a graph that contradicts itself in a part that
 * signatures, restore or init op reach; a variable or table that a signature needs and that could
 * not be initialised; a limit exceeded. Missing tensors of signatures are reported by the lowering.
 */
export function prepareModel(
  source: LoadedGraph,
  checkpoint: Checkpoint | undefined,
  ops: OpTable,
): PreparedModel {
  const flattener = new Flattener(source.graph, ops);
  const functions = new Functions(source.graph, flattener);
  const main: FlatGraph = { nodes: flattener.main(rootNames(source)) };
  checkAcyclic(main, 'the graph');
  const prepared = {
    source,
    main,
    function: (ref: Parameters<PreparedModel['function']>[0]) => functions.get(ref),
  };
  const effectOf = flattener.hasEffect.bind(flattener);
  const state = initialise({
    ...prepared,
    checkpoint,
    needed: () => neededNodes(source, main, effectOf),
  });
  return { ...prepared, state };
}

/** The tensors of a TensorInfo. */
function tensorsOf(info: TensorInfoDef): Ref[] {
  const { cooSparse } = info;
  const names =
    cooSparse === undefined
      ? [info.name ?? '']
      : [cooSparse.values, cooSparse.indices, cooSparse.shape];
  return [
    ...names.flatMap((name) => parseTensorName(name) ?? []),
    ...(info.composite ?? []).flatMap(tensorsOf),
  ];
}

function refsOf(infos: SignatureDef['inputs']): Ref[] {
  return [...infos.values()].flatMap(tensorsOf);
}

function* rootNames(source: LoadedGraph): Generator<string> {
  for (const { inputs, outputs } of source.signatures.values()) {
    for (const { node } of refsOf(inputs)) yield node;
    for (const { node } of refsOf(outputs)) yield node;
  }
  for (const name of [source.saver?.restoreOp, source.initOp]) {
    const ref = parseTensorName(name ?? '');
    if (ref !== undefined) yield ref.node;
  }
  // Nothing says what such a graph is for.
  if (source.format === 'frozen-graph' && source.signatures.size === 0) {
    for (const { name } of source.graph.nodes) yield name;
  }
}

function neededNodes(
  source: LoadedGraph,
  main: FlatGraph,
  effectOf: EffectOf,
): ReadonlySet<string> {
  let known: ReadonlySet<string> | undefined;
  const tainted = (): ReadonlySet<string> => (known ??= taintedNodes(main, effectOf));
  const served = [...source.signatures].filter(([name]) => name !== INIT_SIGNATURE);
  if (served.length > SIGNATURES_APART_MAX) {
    return reachable(
      main,
      served.flatMap(([, { outputs }]) => refsOf(outputs)),
      [],
      effectOf,
    );
  }
  const needed = new Set<string>();
  for (const [, { inputs, outputs }] of served) {
    const found = reachable(main, refsOf(outputs), refsOf(inputs), effectOf, tainted);
    for (const name of found) needed.add(name);
  }
  return needed;
}
