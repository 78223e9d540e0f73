// Lowers one signature of a prepared TensorFlow model to an ONNX graph, cut at the tensors that the
// signature feeds. Importer's worker thread. Source: tensorflow-import.md 1.5, 4.2, 4.3, 10.
import { CONTRIB_DOMAIN } from '../../../model/onnx-names.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { encodeModel, type OnnxGraph, type OnnxValue } from '../../onnx/builder.js';
import { tensorOf } from '../load/meta-graph-parts.js';
import { DATA_TYPES, dtypeOfCode } from '../../../model/datatype.js';
import type {
  ImportedGraph,
  ImportedRanks,
  ImportedStateUse,
  ImportedTensor,
} from '../imported.js';
import { portableGraph } from '../portable.js';
import type {
  Dtype,
  FlatFunction,
  FlatNode,
  FunctionRef,
  PreparedModel,
  Ref,
  Shape,
  SignatureDef,
  TensorInfoDef,
} from '../types.js';
import { Effects } from './effects.js';
import type { Operators } from './context.js';
import { type LoweringProblem, type LoweringScope, GraphLowering } from './graph-lowering.js';
import { type DrawSource, drawsBehind } from './draws.js';
import { ModelBuild, SERVAL_DOMAIN } from './graph-builder.js';
import { namesUsedBy, usedNodes } from './unused.js';
import { SignatureVariables } from './variables.js';
import { elementType } from './values.js';
import type { TensorValue, Value, VariedPart } from './values.js';
import { WeightStore } from './weights.js';

const ONNX_IR_VERSION = 9;
const OPSETS = { '': 20, 'ai.onnx.ml': 4, [CONTRIB_DOMAIN]: 1, serval: 1 };

export interface LowerOptions {
  readonly operators: Operators;
  /** File for constants that no file of the model contains in raw form. */
  readonly weightsPath: string;
  /**
   * For graphs used by other runtimes: all constants go to weightsPath, under this name in the
   * graphs.
   */
  readonly portableAs?: string;
  /** The type of a node's output; undefined if unknown. */
  readonly dtypeOf: (node: FlatNode, output: number) => Dtype | undefined;
  /** Only these signatures; absent = all. */
  readonly signatures?: readonly string[];
  /** The one that comes first; absent = serving_default. */
  readonly first?: string;
  /** Outputs may depend on random numbers; absent = yes. */
  readonly allowRandom?: boolean;
}

/** Inputs shared by the signatures of one model, and the results of this one. */
export interface SignatureJob {
  readonly prepared: PreparedModel;
  readonly options: LowerOptions;
  readonly effects: Effects;
  readonly met: Map<string, number>;
  readonly warnings: Set<string>;
  /** The nodes whose random values the outputs depend on. */
  readonly draws: Set<DrawSource>;
  readonly weights: WeightStore;
  readonly mutable: ReadonlySet<string>;
  readonly problems: LoweringProblem[];
  /** ModelBuild.varied of all attempts. */
  readonly varied: Map<string, readonly VariedPart[]>;
  readonly stateOf: (key: string) => number;
  readonly keyOf: (node: FlatNode) => string;
}

/** run() once. */
export class SignatureLowering {
  readonly #name: string;
  readonly #signature: SignatureDef;
  readonly #job: SignatureJob;
  readonly #build: ModelBuild;
  readonly #variables: SignatureVariables;

  constructor(name: string, signature: SignatureDef, job: SignatureJob) {
    this.#name = name;
    this.#signature = signature;
    this.#job = job;
    this.#build = new ModelBuild(job.weights, job.varied);
    this.#variables = new SignatureVariables(
      job.prepared.state,
      job.mutable,
      this.#build,
      job.keyOf,
    );
  }

  /** undefined if there are problems. */
  run(): ImportedGraph | undefined {
    const { problems } = this.#job;
    const lowering = new GraphLowering(this.#job.prepared.main, this.#scope());
    const values: OnnxValue[] = [];
    const inputs = sortedEntries(this.#signature.inputs).map(([alias, info]) => {
      const [tensor, declared] = this.#feed(lowering, alias, info);
      values.push(declared);
      return tensor;
    });
    const outputs = sortedEntries(this.#signature.outputs);
    const names = outputs.map(([alias]) => this.#build.reserve(alias));
    const refs = outputs.map(([alias, info]) => tensorRef('output', alias, info));
    const results = lowering.lower(refs);
    if (problems.length > 0) return undefined;
    const { ranks } = lowering.builder;
    declareRanks(values, ranks);
    if (lowering.builder.nodes.some(({ op }) => SLIDING.has(op))) declareSequences(values, inputs);
    const given = outputs.map(([alias, info], i) =>
      this.#give(lowering, alias, info, names[i] ?? alias, results[i]),
    );
    const { states, stateInputs, stateOutputs } = this.#stateUses(lowering);
    const graph = this.#finished(lowering, {
      inputs: [...values, ...stateInputs],
      outputs: [...given.map((one) => one.declared), ...stateOutputs],
    });
    this.#judgeDraws(drawsBehind(graph, this.#build.draws));
    if (problems.length > 0) return undefined;
    const isPortable = this.#job.options.portableAs !== undefined;
    const onnx = encodeModel({
      graph: isPortable ? portableGraph(graph, SERVAL_DOMAIN) : graph,
      irVersion: ONNX_IR_VERSION,
      opsets: OPSETS,
      producerName: 'serval',
    });
    return {
      signature: this.#name,
      methodName: this.#signature.methodName,
      inputs: inputs.map((tensor, i) => withRanks(tensor, values[i], ranks)),
      outputs: given.map((one) => one.tensor),
      onnx,
      weights: this.#weightsOf(graph),
      states,
    };
  }

  /** The graph without unused nodes. */
  #finished(lowering: GraphLowering, ends: Pick<OnnxGraph, 'inputs' | 'outputs'>): OnnxGraph {
    const nodes = usedNodes(
      lowering.builder.nodes,
      ends.outputs.map((one) => one.name),
    );
    const used = new Set(nodes.flatMap((node) => [...namesUsedBy(node)]));
    return {
      // Not the signature's name, so that identical signatures share a session.
      name: 'signature',
      ...ends,
      nodes,
      initializers: this.#build.initializers.filter((one) => used.has(one.name)),
      valueInfos: this.#build.typesOf(nodes),
    };
  }

  /** Records draws that the results depend on, or refuses them. */
  #judgeDraws(found: readonly DrawSource[]): void {
    const { options, problems, draws } = this.#job;
    for (const one of found) {
      if (options.allowRandom === false) problems.push({ ...one, reason: RANDOM_REFUSED });
      else draws.add(one);
    }
  }

  #weightsOf(graph: OnnxGraph): number[] {
    const names = new Set(graph.initializers?.map((one) => one.name));
    return [...this.#build.weightsUsed]
      .sort((a, b) => a - b)
      .filter((index) => names.has(this.#job.weights.weights[index]?.name ?? ''));
  }

  #scope(): LoweringScope {
    const { prepared, options, effects, met, warnings, problems } = this.#job;
    return {
      model: this.#build,
      operators: options.operators,
      state: prepared.state,
      problems,
      warnings,
      met,
      work: { nodes: 0, bodies: 0 },
      hasEffect: (graph, name) => effects.of(graph).has(name),
      variables: this.#variables,
      function: (ref: FunctionRef): FlatFunction => prepared.function(ref),
    };
  }

  #feed(lowering: GraphLowering, alias: string, info: TensorInfoDef): [FedTensor, OnnxValue] {
    const ref = tensorRef('input', alias, info);
    const node = this.#job.prepared.main.nodes.get(ref.node);
    if (node === undefined) {
      throw new ServalError(
        ErrorCode.ModelInvalid,
        `input '${alias}': node '${ref.node}' is not in the graph`,
      );
    }
    const dtype = this.#job.options.dtypeOf(node, ref.output) ?? knownDtype(info.dtypeCode);
    refuseComplex('input', alias, dtype);
    const graphName = this.#build.reserve(alias);
    const { shape, hint, isDeclared } = this.#fedShape(node, info);
    const value: TensorValue = { kind: 'tensor', name: graphName, dtype, shape, hint };
    lowering.feed(ref, value);
    const defaultValue = this.#signature.defaults.get(alias);
    const tensor: FedTensor = {
      alias,
      graphName,
      dtype,
      shape: declaredShape(info),
      rank: shape?.length,
      ...(defaultValue === undefined ? {} : { defaultValue }),
    };
    const declared = { name: graphName, type: elementType(dtype) };
    return [tensor, isDeclared && shape !== undefined ? { ...declared, shape } : declared];
  }

  /**
   * TensorFlow does not check the shapes of fed tensors, so the ONNX input's shape stays dynamic
   * and only its rank is assumed. From rank 4 on (images) a Placeholder's own dims are assumed: the
   * runtime needs them, and other ranks would fail anyway.
   */
  #fedShape(
    node: FlatNode,
    info: TensorInfoDef,
  ): { shape: Shape; hint: Shape; isDeclared: boolean } {
    const own = placeholderShape(node, this.#job.prepared.source.graph.producer);
    if (own !== undefined && own.length >= IMAGE_RANK) {
      return { shape: own, hint: own, isDeclared: true };
    }
    const hint = own ?? hintedShape(node) ?? declaredShape(info);
    return { shape: hint?.map(() => undefined), hint, isDeclared: false };
  }

  #give(
    lowering: GraphLowering,
    alias: string,
    info: TensorInfoDef,
    name: string,
    result: Value | undefined,
  ): { tensor: ImportedTensor; declared: OnnxValue } {
    const value = result?.kind === 'variable' ? this.#variables.read(result.key) : result;
    if (value?.kind === 'complex') refuseComplex('output', alias, value.dtype);
    if (value?.kind !== 'tensor') {
      throw new ServalError(
        ErrorCode.Unimplemented,
        `output '${alias}' is a ${value?.kind ?? 'missing value'}, expected a tensor`,
      );
    }
    const { dtype } = value;
    lowering.builder.push('Identity', [lowering.builder.use(value)], [name]);
    return {
      tensor: { alias, graphName: name, dtype, shape: declaredShape(info) },
      declared: { name, type: elementType(dtype) },
    };
  }

  #stateUses(lowering: GraphLowering): {
    states: ImportedStateUse[];
    stateInputs: OnnxValue[];
    stateOutputs: OnnxValue[];
  } {
    const states: ImportedStateUse[] = [];
    const stateInputs: OnnxValue[] = [];
    const stateOutputs: OnnxValue[] = [];
    for (const { key, input, changed } of this.#variables.uses()) {
      const type = elementType(input.dtype);
      const inputName = input.name ?? '';
      stateInputs.push({ name: inputName, type });
      let outputName = '';
      if (changed !== undefined) {
        outputName = this.#build.name('new_state');
        const { builder } = lowering;
        builder.push('Identity', [builder.use(builder.cast(changed, input.dtype))], [outputName]);
        stateOutputs.push({ name: outputName, type });
      }
      states.push({ state: this.#job.stateOf(key), inputName, outputName });
    }
    return { states, stateInputs, stateOutputs };
  }
}

const RANDOM_REFUSED =
  'responses depend on its random values, which differ from those that TensorFlow would draw: ' +
  '--allow-random=false (parameter serval.allow_random in config.pbtxt) refuses them';

const IMAGE_RANK = 4;
const SEQUENCE_RANK = 3;
/** Operators that need their rank anyway, and around which the runtime moves transposes. */
const SLIDING: ReadonlySet<string> = new Set([
  'Conv',
  'ConvTranspose',
  'MaxPool',
  'AveragePool',
  'LSTM',
  'GRU',
  'RNN',
]);

/** Declares that inputs of rank 3 have that rank, with dynamic dims. */
function declareSequences(values: OnnxValue[], inputs: readonly FedTensor[]): void {
  inputs.forEach(({ rank }, i) => {
    const value = values[i];
    if (value === undefined || value.shape !== undefined || rank !== SEQUENCE_RANK) return;
    values[i] = { ...value, shape: [undefined, undefined, undefined] };
  });
}

/** Declares the rank, with dynamic dims, of inputs that feed directly into a kernel of one rank. */
function declareRanks(values: OnnxValue[], ranks: ReadonlyMap<string, ImportedRanks>): void {
  values.forEach((value, i) => {
    const rule = ranks.get(value.name);
    if (value.shape !== undefined || rule === undefined || rule.min !== rule.max) return;
    values[i] = { ...value, shape: Array.from({ length: rule.min }, () => undefined) };
  });
}

/**
 * The input with the ranks that the engine must enforce: a strict kernel's, or the one that the
 * graph declares, because the runtime would refuse others.
 */
function withRanks(
  { rank: _, ...tensor }: FedTensor,
  value: OnnxValue | undefined,
  rules: ReadonlyMap<string, ImportedRanks>,
): ImportedTensor {
  const length = value?.shape?.length;
  const strict = rules.get(tensor.graphName);
  const ranks =
    length === undefined || length === strict?.max ? strict : { min: length, max: length, of: '' };
  return ranks === undefined ? tensor : { ...tensor, ranks };
}

/** An input with its assumed rank. */
interface FedTensor extends ImportedTensor {
  readonly rank: number | undefined;
}
/** Before this producer version a Placeholder's shape [] means unknown. */
const PRODUCER_OF_SCALAR_PLACEHOLDERS = 24;

function placeholderShape(node: FlatNode, producer: number): Shape {
  if (!node.op.startsWith('Placeholder')) return undefined;
  const attribute = node.attributes.get('shape');
  const shape = attribute?.kind === 'shape' ? attribute.value : undefined;
  return shape?.length === 0 && producer < PRODUCER_OF_SCALAR_PLACEHOLDERS ? undefined : shape;
}

function hintedShape(node: FlatNode): Shape {
  const hints = node.attributes.get('_output_shapes');
  return hints?.kind === 'list' ? hints.value.shapes[0] : undefined;
}

function declaredShape(info: TensorInfoDef): Shape {
  if (info.shape === undefined || info.shape.unknownRank) return undefined;
  return info.shape.dims.map(({ size }) => (Number(size) < 0 ? undefined : Number(size)));
}

function tensorRef(what: string, alias: string, info: TensorInfoDef): Ref {
  if (info.name !== undefined && info.name !== '') return tensorOf(info.name);
  const kind = info.cooSparse === undefined ? 'a composite tensor' : 'a sparse tensor';
  throw new ServalError(ErrorCode.Unimplemented, `${what} '${alias}' is ${kind}`);
}

/** No protocol supports complex tensors. Errors: Unimplemented for one. */
function refuseComplex(what: 'input' | 'output', alias: string, dtype: Dtype): void {
  if (DATA_TYPES[dtype].kind !== 'complex') return;
  throw new ServalError(
    ErrorCode.Unimplemented,
    `${what} '${alias}' is ${dtype}, which no protocol carries: export a signature with its real ` +
      `and imaginary parts (tf.math.real, tf.math.imag; tf.complex)`,
  );
}

/** Errors: Unimplemented for a type that the importer does not support. */
function knownDtype(code: number): Dtype {
  const dtype = dtypeOfCode(code);
  if (dtype !== undefined) return dtype;
  throw new ServalError(ErrorCode.Unimplemented, `data type number ${code} is not supported`);
}

function sortedEntries<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
