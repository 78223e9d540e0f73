// Lowers graphs written by hand, and reads the result from the ONNX bytes.
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type {
  ImportedGraph,
  ImportedModel,
} from '../../../../../ts/importers/tensorflow/imported.js';
import { lowerModel } from '../../../../../ts/importers/tensorflow/lower/lower-model.js';
import type { LowerOptions } from '../../../../../ts/importers/tensorflow/lower/lower-signature.js';
import { OPERATORS } from '../../../../../ts/importers/tensorflow/ops/index.js';
import { prepareModel } from '../../../../../ts/importers/tensorflow/prepare/index.js';
import { OpTable } from '../../../../../ts/importers/tensorflow/proto/op-defs.js';
import type {
  Checkpoint,
  LoadedGraph,
  NodeDef,
  SignatureDef,
  TensorInfoDef,
} from '../../../../../ts/importers/tensorflow/types.js';
import { WireReader } from '../../../../../ts/protobuf/reader.js';
import { tempFolder } from '../../../temp-folder.js';
import { graph, loaded } from '../prepare/graphs.js';

const FLOAT_CODE = 1;

/** Alias -> tensor, or a full TensorInfo. */
export type Infos = Readonly<Record<string, string | TensorInfoDef>>;

export function signature(
  inputs: Infos,
  outputs: Infos,
  defaults: SignatureDef['defaults'] = new Map(),
): SignatureDef {
  const infos = (of: Infos): Map<string, TensorInfoDef> =>
    new Map(
      Object.entries(of).map(([alias, info]) => [
        alias,
        typeof info === 'string' ? { name: info, dtypeCode: FLOAT_CODE } : info,
      ]),
    );
  return {
    methodName: 'tensorflow/serving/predict',
    inputs: infos(inputs),
    outputs: infos(outputs),
    defaults,
  };
}

/** A graph with these signatures, without restored variables. */
export function modelOf(
  nodes: readonly NodeDef[],
  signatures: Readonly<Record<string, SignatureDef>>,
  more: Partial<LoadedGraph> = {},
): LoadedGraph {
  return loaded(graph(nodes), [], {
    checkpoint: undefined,
    saver: undefined,
    signatures: new Map(Object.entries(signatures)),
    ...more,
  });
}

export function lowered(
  t: TestContext,
  source: LoadedGraph,
  stored?: Checkpoint,
  more: Partial<LowerOptions> = {},
): ImportedModel {
  const table = new OpTable(source.opDefs ?? [], source.graph.functions);
  return lowerModel(prepareModel(source, stored, table), {
    operators: OPERATORS,
    weightsPath: join(tempFolder(t), 'weights.bin'),
    dtypeOf: (node, output) => table.outputDtype(node, output),
    ...more,
  });
}

export function graphOf(model: ImportedModel, name: string): ImportedGraph {
  const found = model.graphs.find((one) => one.signature === name);
  if (found === undefined) throw new Error(`no graph ${name}: ${JSON.stringify(model.blocked)}`);
  return found;
}

export interface OnnxText {
  /** "Add(x, constant_1) -> Add_2". */
  readonly nodes: readonly string[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly initializers: readonly string[];
}

/** Source: field numbers of onnx/onnx.proto. */
export function onnxText(bytes: Uint8Array): OnnxText {
  const text = {
    nodes: [] as string[],
    inputs: [] as string[],
    outputs: [] as string[],
    initializers: [] as string[],
  };
  const model = new WireReader(bytes, 'ModelProto');
  while (model.next()) {
    if (model.field !== 7) {
      model.skip();
      continue;
    }
    const inner = model.nested('graph');
    while (inner.next()) {
      if (inner.field === 1) text.nodes.push(nodeText(inner.nested('node')));
      else if (inner.field === 5) text.initializers.push(nameOf(inner.nested('initializer'), 8));
      else if (inner.field === 11) text.inputs.push(nameOf(inner.nested('input'), 1));
      else if (inner.field === 12) text.outputs.push(nameOf(inner.nested('output'), 1));
      else inner.skip();
    }
  }
  return text;
}

/** The operators of the graph, in order. */
export const opsOf = (one: ImportedGraph): string[] =>
  onnxText(one.onnx).nodes.map((node) => node.slice(0, node.indexOf('(')));

function nameOf(reader: WireReader, field: number): string {
  let name = '';
  while (reader.next()) {
    if (reader.field === field) name = reader.string();
    else reader.skip();
  }
  return name;
}

function nodeText(reader: WireReader): string {
  const inputs: string[] = [];
  const outputs: string[] = [];
  let op = '';
  while (reader.next()) {
    if (reader.field === 1) inputs.push(reader.string());
    else if (reader.field === 2) outputs.push(reader.string());
    else if (reader.field === 4) op = reader.string();
    else reader.skip();
  }
  return `${op}(${inputs.join(', ')}) -> ${outputs.join(', ')}`;
}
