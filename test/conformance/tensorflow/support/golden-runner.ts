// Runs golden cases: lowers an operator's graph with one signature per case, runs each and compares
// the result with TensorFlow's. Each case runs twice: as fed, and with its shapes declared.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ImportedGraph, ImportedModel } from '../../../../ts/importers/tensorflow/imported.js';
import type { Operators } from '../../../../ts/importers/tensorflow/lower/context.js';
import { lowerModel } from '../../../../ts/importers/tensorflow/lower/lower-model.js';
import { shapeText } from '../../../../ts/importers/tensorflow/lower/values.js';
import { prepareModel } from '../../../../ts/importers/tensorflow/prepare/index.js';
import { OpTable } from '../../../../ts/importers/tensorflow/proto/op-defs.js';
import type {
  Dtype,
  LoadedGraph,
  Shape,
  SignatureDef,
  Tensor,
  TensorInfoDef,
} from '../../../../ts/importers/tensorflow/types.js';
import { tensorDifference } from './compare-tensors.js';
import type { EngineRunner } from './engine-run.js';
import { type GoldenCase, type GoldenGroup, goldenTensor } from './golden-files.js';
import { nodeOf, withShapes } from './graph-forms.js';

export type Outcome = 'passed' | 'failed' | 'unsupported';

export interface CaseResult {
  readonly name: string;
  readonly outcome: Outcome;
  /** "case3 (axis 0, batch): expected ..., got ..."; "" for cases that passed. */
  readonly text: string;
}

/** Runs all cases of one operator, in order: first as fed, then with all shapes declared. */
export async function runGoldens(
  group: GoldenGroup,
  operators: Operators,
  engine: EngineRunner,
  options: RunOptions = {},
): Promise<CaseResult[]> {
  return [
    ...(await runForm(group, operators, engine, { ...options, saysShapes: false })),
    ...(await runForm(group, operators, engine, { ...options, saysShapes: true })),
  ];
}

interface RunOptions {
  /** Inputs that TensorFlow refuses must be the request's fault, with TensorFlow's wording. */
  readonly refusesInWords?: boolean;
  /** The graphs that `serval import` writes for other runtimes. */
  readonly portable?: boolean;
}

interface FormOptions extends RunOptions {
  readonly saysShapes: boolean;
}

interface Run {
  readonly imported: ImportedModel;
  readonly engine: EngineRunner;
  /** True if the model loads as a whole; else each case is loaded alone. */
  readonly whole: boolean;
  /** The shapes that the lowerings declared, by "node:port". */
  readonly said: ReadonlyMap<string, Shape>;
  /** Appended to a case's description. */
  readonly form: string;
  readonly refusesInWords: boolean;
}

async function runForm(
  group: GoldenGroup,
  operators: Operators,
  engine: EngineRunner,
  { saysShapes, refusesInWords = false, portable = false }: FormOptions,
): Promise<CaseResult[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'serval-goldens-'));
  try {
    const source = loadedGraph(group, saysShapes);
    const table = new OpTable([], source.graph.functions);
    const said = new Map<string, Shape>();
    const imported = lowerModel(prepareModel(source, undefined, table), {
      operators: noting(operators, said),
      allowRandom: true,
      weightsPath: join(scratch, 'weights'),
      ...(portable ? { portableAs: 'weights' } : {}),
      dtypeOf: (node, port) => table.outputDtype(node, port),
    });
    const form = saysShapes ? ', shapes said' : '';
    const whole = await engine.load(imported).then(
      () => true,
      () => false,
    );
    const results: CaseResult[] = [];
    for (const one of group.cases) {
      results.push(await runCase(one, { imported, engine, whole, said, form, refusesInWords }));
    }
    await engine.unload(imported);
    return results;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Wraps the operators to record the shapes of their results. */
function noting(operators: Operators, said: Map<string, Shape>): Operators {
  return Object.fromEntries(
    Object.entries(operators).map(([op, operator]) => [
      op,
      {
        ...operator,
        lower: (cx) => {
          const out = operator.lower(cx);
          [out].flat().forEach((value, port) => {
            if (value.kind === 'tensor') said.set(`${cx.node.name}:${port}`, value.shape);
          });
          return out;
        },
      },
    ]),
  );
}

const FLOAT_CODE = 1;

function loadedGraph({ graph, cases }: GoldenGroup, saysShapes: boolean): LoadedGraph {
  const feeds = cases.flatMap((one) => Object.entries(one.feeds));
  const shapes = new Map(feeds.map(([name, { shape }]) => [nodeOf(name), shape]));
  return {
    format: 'frozen-graph',
    tags: [],
    tensorflowVersion: '',
    assets: [],
    opDefs: [],
    graph: saysShapes ? withShapes(graph, shapes) : graph,
    signatures: new Map(cases.map((one) => [one.name, signatureOf(one)])),
    checkpoint: undefined,
    saver: undefined,
    initOp: undefined,
    warnings: [],
  };
}

/** The types are those of the graph; the types in a signature are ignored. */
function signatureOf(one: GoldenCase): SignatureDef {
  const infos = (entries: GoldenCase['fetches']): Map<string, TensorInfoDef> =>
    new Map(Object.keys(entries).map((name) => [name, { name, dtypeCode: FLOAT_CODE }]));
  return {
    methodName: '',
    defaults: new Map(),
    inputs: infos(one.feeds),
    outputs: infos(one.fetches),
  };
}

async function runCase(one: GoldenCase, run: Run): Promise<CaseResult> {
  const where = `${one.name} (${one.attributes}, ${one.dims}${run.form})`;
  const done = (outcome: Outcome, text = ''): CaseResult => ({
    name: one.name,
    outcome,
    text: text && `${where}: ${text}`,
  });
  const graph = run.imported.graphs.find(({ signature }) => signature === one.name);
  if (graph === undefined) {
    if (one.expectError !== undefined) return done('passed');
    const blocked = run.imported.blocked.find(({ signature }) => signature === one.name);
    const [problem] = blocked?.problems ?? [];
    return done('unsupported', `${problem?.op} '${problem?.node}': ${problem?.reason}`);
  }
  try {
    const wrong = await wrongAnswer(one, run, graph);
    return wrong === undefined ? done('passed') : done('failed', wrong);
  } catch (error) {
    const text = (error as Error).message;
    if (one.expectError !== undefined) {
      const wrong = run.refusesInWords ? wrongRefusal(one.expectError, text) : undefined;
      return wrong === undefined ? done('passed') : done('failed', wrong);
    }
    return done('failed', `expected an answer, got: ${text.slice(0, 400)}`);
  }
}

/** Parts of TensorFlow's messages about an index or a size. */
const NAMED =
  /(indices\S* = .* is not in \[0, \d+\)|does not index into .*shape \[[\d,]*\]|Expected (begin|size)\[\d\] in \[0, \d\], but got -?\d+)/;

/** Returns what is wrong with a refusal; undefined if nothing is. */
function wrongRefusal(wanted: string, got: string): string | undefined {
  if (!got.startsWith('InvalidArgument: ')) return `expected InvalidArgument, got: ${got}`;
  const words = NAMED.exec(wanted)?.[0];
  return words === undefined || got.includes(words) ? undefined : `expected ${words}, got: ${got}`;
}

/** Returns what is wrong with the result; undefined if nothing is. */
async function wrongAnswer(
  one: GoldenCase,
  run: Run,
  graph: ImportedGraph,
): Promise<string | undefined> {
  const results = await answers(one, run, graph);
  if (one.expectError !== undefined) return `expected the error "${one.expectError}", got none`;
  for (const [name, value] of Object.entries(one.fetches)) {
    const got = results.get(name);
    if (value === null || got === undefined) return `no answer for ${name}`;
    const difference = tensorDifference(served(goldenTensor(value)), got, one.tolerance);
    if (difference !== undefined) return `${name}: ${difference}`;
    const shape = run.said.get(name);
    if (shape !== undefined && !isLike(shape, got.shape)) {
      return `${name}: said to be ${shapeText(shape)}, is ${shapeText(got.shape)}`;
    }
  }
  return undefined;
}

async function answers(
  one: GoldenCase,
  { imported, engine, whole }: Run,
  graph: ImportedGraph,
): Promise<ReadonlyMap<string, Tensor>> {
  const feeds = new Map(
    Object.entries(one.feeds).map(([name, value]) => [name, served(goldenTensor(value))]),
  );
  if (whole) return engine.run(imported, graph, feeds);
  const alone: ImportedModel = { ...imported, graphs: [graph] };
  try {
    return await engine.run(alone, graph, feeds);
  } finally {
    await engine.unload(alone);
  }
}

const QUANTISED: Partial<Record<Dtype, Dtype>> = {
  qint8: 'int8',
  quint8: 'uint8',
  qint16: 'int16',
  quint16: 'uint16',
  qint32: 'int32',
};

/** The interfaces have no quantized types: such tensors are served as plain integers. */
const served = (tensor: Tensor): Tensor => ({
  ...tensor,
  dtype: QUANTISED[tensor.dtype] ?? tensor.dtype,
});

const isLike = (said: NonNullable<Shape>, shape: readonly number[]): boolean =>
  said.length === shape.length &&
  said.every((dim, axis) => dim === undefined || dim === shape[axis]);
