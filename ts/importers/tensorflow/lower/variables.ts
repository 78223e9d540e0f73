// A model's variables during the lowering of one signature: constants, or, if some signature
// assigns them, state that is a graph input and output. Importer's worker thread.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type { FlatGraph, FlatNode, Initialised } from '../types.js';
import { constantValue, type ModelBuild } from './graph-builder.js';
import type { VariableStore } from './graph-lowering.js';
import type { TensorValue } from './values.js';

const VARIABLES: ReadonlySet<string> = new Set([
  'Variable',
  'VariableV2',
  'VarHandleOp',
  'TemporaryVariable',
]);

export const isVariable = (node: FlatNode): boolean => VARIABLES.has(node.op);

/**
 * Maps a graph's variable nodes to keys: nodes of one container and shared_name share the first
 * node's name.
 */
export function variableKeys(graph: FlatGraph): (node: FlatNode) => string {
  const first = new Map<string, string>();
  const sharedName = (node: FlatNode): string => {
    const name = node.attributes.get('shared_name');
    const container = node.attributes.get('container');
    if (name?.kind !== 'bytes' || name.value.length === 0) return '';
    const where = container?.kind === 'bytes' ? container.value : [];
    return (
      `${node.op}\n${Buffer.from(where).toString('latin1')}\n` +
      Buffer.from(name.value).toString('latin1')
    );
  };
  for (const node of graph.nodes.values()) {
    const shared = isVariable(node) ? sharedName(node) : '';
    if (shared !== '' && !first.has(shared)) first.set(shared, node.name);
  }
  return (node) => first.get(sharedName(node)) ?? node.name;
}

export interface VariableUse {
  readonly key: string;
  readonly input: TensorValue;
  /** The variable's final value in the signature; undefined = it only reads. */
  readonly changed: TensorValue | undefined;
}

export class SignatureVariables implements VariableStore {
  readonly keyOf: (node: FlatNode) => string;
  readonly #state: Initialised;
  readonly #mutable: ReadonlySet<string>;
  readonly #build: ModelBuild;
  readonly #inputs = new Map<string, TensorValue>();
  readonly #current = new Map<string, TensorValue>();

  constructor(
    state: Initialised,
    mutable: ReadonlySet<string>,
    build: ModelBuild,
    keyOf: (node: FlatNode) => string,
  ) {
    this.keyOf = keyOf;
    this.#state = state;
    this.#mutable = mutable;
    this.#build = build;
  }

  read(key: string): TensorValue {
    const current = this.#current.get(key);
    if (current !== undefined) return current;
    const initial = this.#state.variables.get(key);
    if (initial === undefined) throw withoutValue(key);
    if (!this.#mutable.has(key)) return constantValue(initial);
    const { dtype, shape } = initial;
    const name = this.#build.name('state');
    const input: TensorValue = { kind: 'tensor', name, dtype, shape };
    this.#inputs.set(key, input);
    this.#current.set(key, input);
    return input;
  }

  assign(key: string, value: TensorValue): void {
    if (!this.#mutable.has(key)) {
      throw new ServalError(
        ErrorCode.Unimplemented,
        `variable '${key}' is assigned, but it was lowered as read-only`,
      );
    }
    if (!this.#inputs.has(key)) this.read(key);
    this.#current.set(key, value);
  }

  assignedBy<T>(run: () => T): { result: T; assigned: ReadonlyMap<string, TensorValue> } {
    const before = new Map(this.#current);
    const result = run();
    const assigned = new Map(
      [...this.#current].filter(
        ([key, value]) => (before.get(key) ?? this.#inputs.get(key)) !== value,
      ),
    );
    for (const key of assigned.keys()) {
      const old = before.get(key) ?? this.#inputs.get(key);
      if (old !== undefined) this.#current.set(key, old);
    }
    return { result, assigned };
  }

  /** Variables that the signature uses as state, in the order of their first use. */
  uses(): VariableUse[] {
    return [...this.#inputs].map(([key, input]) => {
      const current = this.#current.get(key);
      return { key, input, changed: current === input ? undefined : current };
    });
  }
}

function withoutValue(key: string): ServalError {
  return new ServalError(
    ErrorCode.Unimplemented,
    `variable '${key}' has no value: neither the checkpoint nor the init op sets it`,
  );
}
