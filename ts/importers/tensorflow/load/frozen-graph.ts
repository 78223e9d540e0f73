// Loads a frozen GraphDef as a LoadedGraph, with one signature made from its inputs and outputs.
// Importer's worker thread. Source: tensorflow-import.md 3.6.
import { modelInvalid } from '../../../base/errors.js';
import { DEFAULT_SIGNATURE, PREDICT_METHOD } from '../../../base/signatures.js';
import { codeOfDtype } from '../../../model/datatype.js';
import { readGraphDef } from '../proto/graph-def.js';
import { OpTable } from '../proto/op-defs.js';
import { GRAPH_DEF } from '../../../protobuf/generated/tensorflow-graph.js';
import type {
  GraphDef,
  LoadedGraph,
  NodeDef,
  Shape,
  TensorInfoDef,
  TensorShapeDef,
} from '../types.js';
import { nodesByName, tensorOf } from './meta-graph-parts.js';
import { located, readMessageFile } from './model-file.js';

export interface FrozenOptions {
  /** Tensors that are fed, "a" or "a:1"; default: the placeholders that the outputs need. */
  readonly inputs?: readonly string[];
  /** Default: the nodes whose results no node uses. */
  readonly outputs?: readonly string[];
}

const PLACEHOLDERS = new Set(['Placeholder', 'PlaceholderV2']);
const WITH_DEFAULT = 'PlaceholderWithDefault';
const VARIABLES = new Set([
  'Variable',
  'VariableV2',
  'VarHandleOp',
  'AutoReloadVariable',
  'TemporaryVariable',
  '_VarHandlesOp',
]);
/** Never outputs, even if nothing uses them. */
const NO_OUTPUTS = new Set(['Const', 'HostConst', WITH_DEFAULT, ...PLACEHOLDERS, ...VARIABLES]);
const NAMES_SHOWN_MAX = 8;
/** Before this graph version a placeholder's shape [] meant unknown. */
const SCALAR_PLACEHOLDERS_SINCE = 24;

/**
 * One signature "serving_default" of Predict; aliases are the given names, or those of nodes.
 * Errors: ModelInvalid: damaged, variables inside, a name that no tensor has.
 */
export function loadFrozenGraph(file: string, options: FrozenOptions = {}): LoadedGraph {
  const graph = readMessageFile(file, GRAPH_DEF, readGraphDef);
  return located(file, () => {
    const ends = new Ends(graph);
    const outputs = options.outputs ?? ends.outputs();
    if (outputs.length === 0) throw modelInvalid('expected nodes that no node uses, got none');
    const given = options.inputs?.map((name) => tensorOf(name).node) ?? [];
    const needed = ends.needed(outputs, new Set(given));
    refuseVariables(graph, options.outputs === undefined ? undefined : needed);
    const inputs = options.inputs ?? ends.inputs(needed);
    return {
      format: 'frozen-graph',
      tags: [],
      tensorflowVersion: '',
      graph,
      signatures: new Map([
        [
          DEFAULT_SIGNATURE,
          {
            methodName: PREDICT_METHOD,
            inputs: ends.infos(inputs, 'input'),
            outputs: ends.infos(outputs, 'output'),
            defaults: new Map(),
          },
        ],
      ]),
      assets: [],
      checkpoint: undefined,
      saver: undefined,
      initOp: undefined,
      warnings: [],
    };
  });
}

/** `needed` undefined: all nodes count. */
function refuseVariables(graph: GraphDef, needed: ReadonlySet<string> | undefined): void {
  const found = graph.nodes
    .filter(({ name, op }) => VARIABLES.has(op) && needed?.has(name) !== false)
    .map(({ name }) => name);
  if (found.length === 0) return;
  const more = found.length > NAMES_SHOWN_MAX ? ` and ${found.length - NAMES_SHOWN_MAX} more` : '';
  throw modelInvalid(
    'expected a frozen graph, whose variables have become constants, got the ' +
      `variables ${found.slice(0, NAMES_SHOWN_MAX).join(', ')}${more}`,
  );
}

/** The graph's inputs and outputs. */
class Ends {
  readonly #graph: GraphDef;
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #ops: OpTable;

  constructor(graph: GraphDef) {
    this.#graph = graph;
    this.#nodes = nodesByName(graph);
    this.#ops = new OpTable([], graph.functions);
  }

  /** Nodes with outputs that no node uses, not even as a control input. */
  outputs(): readonly string[] {
    const used = new Set(
      this.#graph.nodes.flatMap(({ inputs }) => inputs.map((input) => tensorOf(input).node)),
    );
    return this.#graph.nodes
      .filter(
        (node) =>
          !used.has(node.name) && !NO_OUTPUTS.has(node.op) && this.#ops.outputCount(node) !== 0,
      )
      .map(({ name }) => name);
  }

  /** Placeholders; if there are none, those with a default. */
  inputs(needed: ReadonlySet<string>): readonly string[] {
    const of = (isWanted: (op: string) => boolean): readonly string[] =>
      this.#graph.nodes
        .filter(({ name, op }) => isWanted(op) && needed.has(name))
        .map(({ name }) => name);
    const plain = of((op) => PLACEHOLDERS.has(op));
    return plain.length > 0 ? plain : of((op) => op === WITH_DEFAULT);
  }

  /** The nodes that the outputs need if the nodes of `fed` are given. */
  needed(outputs: readonly string[], fed: ReadonlySet<string>): ReadonlySet<string> {
    const seen = new Set(outputs.map((name) => tensorOf(name).node));
    // Iteration of a set includes elements added meanwhile.
    for (const name of seen) {
      if (fed.has(name)) continue;
      for (const input of this.#nodes.get(name)?.inputs ?? []) seen.add(tensorOf(input).node);
    }
    return seen;
  }

  infos(names: readonly string[], what: string): ReadonlyMap<string, TensorInfoDef> {
    return new Map(
      names.map((given) => {
        const { node, output } = tensorOf(given);
        const found = this.#nodes.get(node);
        if (found === undefined) {
          throw modelInvalid(
            `${what} "${given}": expected a tensor of the graph, got no such node`,
          );
        }
        const count = this.#ops.outputCount(found);
        if (count !== undefined && output >= count) {
          throw modelInvalid(
            `${what} "${given}": expected an output below ${count}, as ${found.op} has, got ${output}`,
          );
        }
        const dtype = this.#ops.outputDtype(found, output);
        const shape = this.#shape(found, output);
        const info = {
          name: `${node}:${output}`,
          dtypeCode: dtype === undefined ? 0 : codeOfDtype(dtype),
        };
        return [given, shape === undefined ? info : { ...info, shape }];
      }),
    );
  }

  #shape(node: NodeDef, output: number): TensorShapeDef | undefined {
    const own = node.attributes.get('shape');
    if (PLACEHOLDERS.has(node.op) || node.op === WITH_DEFAULT) {
      const isUnsaid =
        own?.kind === 'shape' &&
        own.value?.length === 0 &&
        this.#graph.producer < SCALAR_PLACEHOLDERS_SINCE;
      return shapeDef(own?.kind === 'shape' && !isUnsaid ? own.value : undefined);
    }
    const hints = node.attributes.get('_output_shapes');
    if (hints?.kind !== 'list' || output >= hints.value.shapes.length) return undefined;
    return shapeDef(hints.value.shapes[output]);
  }
}

function shapeDef(shape: Shape): TensorShapeDef {
  if (shape === undefined) return { unknownRank: true, dims: [] };
  const dims = shape.map((size) => ({ size: String(size ?? -1), name: '' }));
  return { unknownRank: false, dims };
}
