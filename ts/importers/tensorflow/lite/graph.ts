// A TensorFlow Lite file as the importer's common graph: each operator becomes the nodes of
// TensorFlow's operators (and of a few own ones, ops/lite) that compute the same. Importer's worker
// thread. Source: tensorflow/lite/core/interpreter_builder.cc.
import { modelInvalid } from '../../../base/errors.js';
import { DEFAULT_SIGNATURE, PREDICT_METHOD } from '../../../base/signatures.js';
import { codeOfDtype } from '../../../model/datatype.js';
import { OpTable } from '../proto/op-defs.js';
import type {
  ArgDef,
  FunctionDef,
  LoadedGraph,
  NodeDef,
  SignatureDef,
  TensorInfoDef,
} from '../types.js';
import * as attribute from './attributes.js';
import { dtypeOf, LiteFile, typeName } from './file.js';
import type { Operator, TensorMap } from './generated/schema.js';
import { type Bodies, LiteOp } from './op.js';
import { LITE_OPERATORS } from './ops/index.js';
import { LiteScope, type NodeRef, Refused } from './scope.js';

/** Subgraphs that are bodies of branches and loops, each once. */
const BODIES_MAX = 10_000;
const CUSTOM = 'CUSTOM';
/** Since this version of graphs a placeholder's shape [] is a scalar. */
const PRODUCER = 24;

/** A tensor under the name that clients use. */
interface Named {
  readonly name: string;
  readonly index: number;
}

/** Errors: ModelInvalid: damaged, contradictory, not this format. */
export function loadLite(path: string): LoadedGraph {
  const file = LiteFile.open(path);
  try {
    return new Maker(file).graph();
  } catch (error) {
    // A tensor that a signature names; operators are refused one by one.
    if (error instanceof Refused) throw modelInvalid(error.message);
    throw error;
  }
}

class Maker implements Bodies {
  readonly #file: LiteFile;
  readonly #ops = new OpTable();
  readonly #nodes: NodeDef[] = [];
  readonly #functions = new Map<string, FunctionDef>();
  readonly #wanted: number[] = [];
  readonly #names = new Map<number, string>();

  constructor(file: LiteFile) {
    this.#file = file;
  }

  graph(): LoadedGraph {
    const { signatureDefs, subgraphs } = this.#file.model;
    if (subgraphs.length === 0) throw modelInvalid('expected a subgraph, got none');
    const signatures = new Map<string, SignatureDef>();
    const scopes = new Map<number, LiteScope>();
    const scopeOf = (index: number): LiteScope => {
      const known = scopes.get(index);
      if (known !== undefined) return known;
      const scope = this.#main(index, scopes.size === 0 ? '' : `subgraph_${index}/`);
      scopes.set(index, scope);
      return scope;
    };
    for (const one of signatureDefs) {
      const name = one.signatureKey === '' ? DEFAULT_SIGNATURE : one.signatureKey;
      if (signatures.has(name)) throw modelInvalid(`expected one signature '${name}', got two`);
      const scope = scopeOf(one.subgraphIndex);
      const [inputs, outputs] = [namedBy(one.inputs), namedBy(one.outputs)];
      signatures.set(name, signatureOf(scope, inputs, outputs, `signature '${name}'`));
    }
    if (signatureDefs.length === 0) {
      const scope = scopeOf(0);
      const { inputs, outputs } = scope.graph;
      signatures.set(
        DEFAULT_SIGNATURE,
        signatureOf(scope, named(scope, inputs), named(scope, outputs), scope.place),
      );
    }
    // Only now: an output that is a constant has added its node.
    for (const { nodes } of scopes.values()) for (const node of nodes) this.#nodes.push(node);
    for (let next = this.#wanted.pop(); next !== undefined; next = this.#wanted.pop()) {
      this.#addFunction(next);
    }
    return {
      format: 'tflite',
      tags: [],
      tensorflowVersion: '',
      graph: { nodes: this.#nodes, functions: this.#functions, producer: PRODUCER },
      signatures,
      assets: [],
      checkpoint: undefined,
      saver: undefined,
      initOp: undefined,
      warnings: [],
    };
  }

  functionOf(subgraph: number): string {
    const known = this.#names.get(subgraph);
    if (known !== undefined) return known;
    if (this.#file.model.subgraphs[subgraph] === undefined) {
      throw new Refused(`its subgraph ${subgraph} does not exist`);
    }
    if (this.#names.size >= BODIES_MAX) throw modelInvalid(`more than ${BODIES_MAX} bodies`);
    const name = `subgraph_${subgraph}`;
    this.#names.set(subgraph, name);
    this.#wanted.push(subgraph);
    return name;
  }

  /** A subgraph of a signature: its inputs are placeholders. */
  #main(index: number, prefix: string): LiteScope {
    const scope = new LiteScope(this.#file, index, this.#ops, prefix, false);
    for (const input of scope.graph.inputs) {
      const attributes = {
        dtype: attribute.type(servedDtype(scope, input)),
        shape: attribute.shape(scope.shape(input)),
      };
      scope.feed(input, scope.add('Placeholder', [], attributes, scope.tensor(input).name));
    }
    this.#translate(scope);
    return scope;
  }

  #addFunction(index: number): void {
    const scope = new LiteScope(this.#file, index, this.#ops, '', true);
    const args = (what: string, list: Int32Array): ArgDef[] =>
      Array.from(list, (tensor, i) => ({
        name: `${what}_${i}`,
        type: servedDtype(scope, tensor),
        typeAttr: '',
        numberAttr: '',
        typeListAttr: '',
        isRef: false,
      }));
    const { inputs, outputs } = scope.graph;
    const signature = {
      name: this.functionOf(index),
      inputs: args('input', inputs),
      outputs: args('output', outputs),
      defaults: new Map(),
      isStateful: false,
    };
    inputs.forEach((tensor, i) => scope.feed(tensor, { node: `input_${i}`, output: 0 }));
    this.#translate(scope);
    const returns = new Map<string, string>();
    outputs.forEach((tensor, i) => returns.set(`output_${i}`, scope.spell(scope.raw(tensor))));
    this.#functions.set(signature.name, {
      signature,
      nodes: scope.nodes,
      returns,
      controlReturns: new Map(),
      attributes: new Map(),
    });
  }

  #translate(scope: LiteScope): void {
    scope.graph.operators.forEach((operator, i) => {
      const { name, isCustom } = this.#file.nameOf(operator);
      const refuse = (reason: string): void => refused(scope, operator, i, name, isCustom, reason);
      const found =
        !isCustom && Object.hasOwn(LITE_OPERATORS, name) ? LITE_OPERATORS[name] : undefined;
      if (found === undefined) return refuse('the operator is not supported');
      try {
        return found.translate(new LiteOp(scope, operator, name, this));
      } catch (error) {
        // A RangeError: damaged options, or numbers that make no sense together.
        if (!(error instanceof Refused || error instanceof RangeError)) throw error;
        return refuse(error.message);
      }
    });
  }
}

/** A node for an operator that is not lowered: the signatures that need it are refused. */
function refused(
  scope: LiteScope,
  operator: Operator,
  number: number,
  name: string,
  isCustom: boolean,
  reason: string,
): void {
  const inputs: NodeRef[] = [];
  const { node } = scope.add(
    isCustom ? `${CUSTOM} ${name}` : name,
    inputs,
    { [REFUSAL]: attribute.text(reason) },
    `operator_${number}`,
  );
  operator.outputs.forEach((index, output) => {
    if (index >= 0) scope.feed(index, { node, output });
  });
}

/** The attribute with the reason why an operator is not lowered. */
export const REFUSAL = 'refusal';

function servedDtype(scope: LiteScope, index: number) {
  const { type } = scope.tensor(index);
  const dtype = dtypeOf(type);
  if (dtype !== undefined) return dtype;
  throw modelInvalid(`${scope.place}, tensor ${index}: tensors of ${typeName(type)}`);
}

const namedBy = (maps: readonly TensorMap[]): Named[] =>
  maps.map(({ name, tensorIndex }) => ({ name, index: tensorIndex }));

/** The tensors' own names, with a number where two are the same or one has none. */
function named(scope: LiteScope, indices: Int32Array): Named[] {
  const taken = new Set<string>();
  return Array.from(indices, (index, i) => {
    const own = scope.tensor(index).name;
    const name = own === '' || taken.has(own) ? `${own === '' ? 'tensor' : own}_${i}` : own;
    taken.add(name);
    return { name, index };
  });
}

function signatureOf(
  scope: LiteScope,
  inputs: readonly Named[],
  outputs: readonly Named[],
  where: string,
): SignatureDef {
  const infos = (list: readonly Named[], what: string): ReadonlyMap<string, TensorInfoDef> => {
    const found = new Map<string, TensorInfoDef>();
    for (const { name, index } of list) {
      const at = `${where}, ${what} '${name}'`;
      if (found.has(name)) throw modelInvalid(`${at}: expected one of this name, got two`);
      if (index >= scope.graph.tensors.length) {
        throw modelInvalid(`${at}: tensor ${index}: expected one of ${scope.graph.tensors.length}`);
      }
      if (what === 'input' && !scope.graph.inputs.includes(index)) {
        throw modelInvalid(`${at}: tensor ${index} is not an input of ${scope.place}`);
      }
      found.set(name, infoOf(scope, index));
    }
    return found;
  };
  return {
    methodName: PREDICT_METHOD,
    inputs: infos(inputs, 'input'),
    outputs: infos(outputs, 'output'),
    defaults: new Map(),
  };
}

function infoOf(scope: LiteScope, index: number): TensorInfoDef {
  const shape = scope.shape(index);
  return {
    name: scope.spell(scope.raw(index)),
    dtypeCode: codeOfDtype(servedDtype(scope, index)),
    shape: {
      unknownRank: shape === undefined,
      dims: (shape ?? []).map((dim) => ({ size: String(dim ?? -1), name: '' })),
    },
  };
}
