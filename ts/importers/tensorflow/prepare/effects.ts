// Finds operators, functions and nodes that change a model's state (variables, tables): they must
// run even if nothing reads their outputs. Importer's worker thread; pure.
import type { FunctionDef, GraphDef, NodeDef } from '../types.js';
import { functionsIn, namesFunctions } from './attributes.js';

const EFFECTS = new Set([
  'Assign',
  'AssignAdd',
  'AssignSub',
  'AssignVariableOp',
  'AssignAddVariableOp',
  'AssignSubVariableOp',
  'AssignVariableXlaConcatND',
  'CountUpTo',
  'ResourceCountUpTo',
  'StridedSliceAssign',
  'ResourceStridedSliceAssign',
  'InitializeTable',
  'InitializeTableV2',
  'InitializeTableFromTextFile',
  'InitializeTableFromTextFileV2',
  'InitializeTableFromDataset',
  'LookupTableImport',
  'LookupTableImportV2',
  'LookupTableInsert',
  'LookupTableInsertV2',
  'LookupTableRemoveV2',
  'BoostedTreesCreateEnsemble',
  'BoostedTreesDeserializeEnsemble',
  'BoostedTreesCreateQuantileStreamResource',
  'BoostedTreesQuantileStreamResourceDeserialize',
  'CreateTreeEnsembleVariable',
  'TreeEnsembleDeserialize',
  'CreateTreeVariable',
  'TreeDeserialize',
  'SimpleMLLoadModelFromPathWithHandle',
]);
// Excludes ScatterNd itself, TensorScatter* and the like.
const EFFECT_FAMILIES =
  /^(Resource)?(Sparse)?Apply[A-Z]|^(Resource)?Scatter(Nd)?(Add|Sub|Mul|Div|Min|Max|Update)$/;

/** Whether the operator itself changes a variable, a table or another resource. */
export function hasStateEffect(op: string): boolean {
  return EFFECTS.has(op) || EFFECT_FAMILIES.test(op);
}

/** A container of nodes: a graph or a function's body. */
export interface NodeHolder {
  readonly nodes: readonly NodeDef[];
}

/** The effects of a graph's functions and nodes, before anything is inlined. */
export class Effects {
  readonly #effective: ReadonlySet<string>;
  /** By operator. */
  readonly #known = new Map<string, boolean>();
  readonly #nodes = new Map<NodeHolder, readonly string[]>();
  readonly #tainted = new Map<NodeHolder, ReadonlySet<string>>();

  constructor(graph: GraphDef) {
    this.#effective = effectiveFunctions(graph.functions);
  }

  /** Whether the node changes state, itself or through the functions that it names. */
  of(node: Pick<NodeDef, 'op' | 'attributes'>): boolean {
    if (this.#ofOperator(node.op)) return true;
    for (const [name, attribute] of node.attributes) {
      // The function that a placeholder stands for is not known here.
      if (attribute.kind === 'placeholder' && FUNCTION_ATTRIBUTES.has(name)) return true;
      if (!namesFunctions(attribute)) continue;
      for (const ref of functionsIn(node.attributes)) {
        if (this.#effective.has(ref.name)) return true;
      }
    }
    return false;
  }

  #ofOperator(op: string): boolean {
    let found = this.#known.get(op);
    if (found === undefined) {
      found = hasStateEffect(op) || this.#effective.has(op);
      this.#known.set(op, found);
    }
    return found;
  }

  /** Names of the body's nodes that change state. */
  nodesOf(body: NodeHolder): readonly string[] {
    let found = this.#nodes.get(body);
    if (found === undefined) {
      found = body.nodes.filter((node) => this.of(node)).map(({ name }) => name);
      this.#nodes.set(body, found);
    }
    return found;
  }

  /** Names of the body's nodes that change state or run after one that does. */
  tainted(body: NodeHolder): ReadonlySet<string> {
    let found = this.#tainted.get(body);
    if (found === undefined) {
      found = this.#findTainted(body);
      this.#tainted.set(body, found);
    }
    return found;
  }

  #findTainted(body: NodeHolder): ReadonlySet<string> {
    const consumers = new Map<string, string[]>();
    const reached = new Set<string>(this.nodesOf(body));
    for (const node of body.nodes) {
      for (const input of node.inputs) {
        const name = producerOf(input);
        const known = consumers.get(name);
        if (known === undefined) consumers.set(name, [node.name]);
        else known.push(node.name);
      }
    }
    // Iteration of a Set includes elements added meanwhile.
    for (const name of reached) {
      for (const consumer of consumers.get(name) ?? []) reached.add(consumer);
    }
    return reached;
  }
}

const FUNCTION_ATTRIBUTES: ReadonlySet<string> = new Set([
  'f',
  'then_branch',
  'else_branch',
  'cond',
  'body',
]);

/** The node named by an input: "a", "a:1", "^a", "a:out:0". */
function producerOf(input: string): string {
  const start = input.startsWith('^') ? 1 : 0;
  const colon = input.indexOf(':');
  return input.slice(start, colon < 0 ? undefined : colon);
}

// Propagates effects from functions that have them to those that name them.
function effectiveFunctions(functions: ReadonlyMap<string, FunctionDef>): ReadonlySet<string> {
  const namedBy = new Map<string, string[]>();
  const reached = new Set<string>();
  const note = (callee: string, caller: string): void => {
    const known = namedBy.get(callee);
    if (known === undefined) namedBy.set(callee, [caller]);
    else known.push(caller);
  };
  for (const [name, { nodes }] of functions) {
    for (const node of nodes) {
      if (hasStateEffect(node.op)) reached.add(name);
      if (functions.has(node.op)) note(node.op, name);
      for (const ref of functionsIn(node.attributes)) note(ref.name, name);
    }
  }
  for (const name of reached) {
    for (const caller of namedBy.get(name) ?? []) reached.add(caller);
  }
  return reached;
}
