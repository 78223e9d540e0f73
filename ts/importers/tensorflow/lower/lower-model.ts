// Lowers a prepared TensorFlow model to ONNX graphs: one per signature, with shared constants.
// Importer's worker thread. Source: tensorflow-import.md 1.5, 4.2, 4.3, 10.
import { DEFAULT_SIGNATURE, INIT_SIGNATURE } from '../../../base/signatures.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { tensorOf } from '../load/meta-graph-parts.js';
import type {
  BlockedSignature,
  ImportedGraph,
  ImportedModel,
  ImportedState,
  OperatorUse,
} from '../imported.js';
import type { FlatNode, PreparedModel, SignatureDef } from '../types.js';
import { drawsWarning, type DrawSource } from './draws.js';
import { ASSIGNING, Effects } from './effects.js';
import type { LoweringProblem } from './graph-lowering.js';
import type { VariedPart } from './values.js';
import { isVariable, variableKeys } from './variables.js';
import { WeightStore } from './weights.js';
import { SignatureLowering, type LowerOptions, type SignatureJob } from './lower-signature.js';

/**
 * Lowers every signature. Those that need unsupported operators are in `blocked`. Errors:
 * ModelInvalid if the graph contradicts itself.
 */
export function lowerModel(prepared: PreparedModel, options: LowerOptions): ImportedModel {
  const { weightsPath, portableAs } = options;
  const weights = new WeightStore(weightsPath, portableAs, portableAs !== undefined);
  try {
    return new ModelLowering(prepared, options, weights).run();
  } finally {
    weights.close();
  }
}

/** Maximum attempts for one signature. */
const ATTEMPTS_MAX = 8;

interface Attempt {
  readonly outcome: Outcome;
  readonly met: ReadonlyMap<string, number>;
  readonly warnings: ReadonlySet<string>;
  readonly draws: ReadonlySet<DrawSource>;
}

interface Outcome {
  readonly graph?: ImportedGraph;
  readonly blocked?: BlockedSignature;
}

class ModelLowering {
  readonly #prepared: PreparedModel;
  readonly #options: LowerOptions;
  readonly #weights: WeightStore;
  readonly #effects: Effects;
  readonly #keyOf: (node: FlatNode) => string;
  readonly #met = new Map<string, number>();
  readonly #warnings = new Set<string>();
  /** By signature: the draws that its results depend on. */
  readonly #draws = new Map<string, readonly DrawSource[]>();
  readonly #states: ImportedState[] = [];
  readonly #stateIndex = new Map<string, number>();

  constructor(prepared: PreparedModel, options: LowerOptions, weights: WeightStore) {
    this.#prepared = prepared;
    this.#options = options;
    this.#weights = weights;
    this.#effects = new Effects((ref) => prepared.function(ref));
    this.#keyOf = variableKeys(prepared.main);
  }

  run(): ImportedModel {
    const { source, state } = this.#prepared;
    const names = [...source.signatures.keys()].sort();
    const chosen = names.filter(
      (name) => name !== INIT_SIGNATURE && (this.#options.signatures?.includes(name) ?? true),
    );
    const { first = DEFAULT_SIGNATURE } = this.#options;
    chosen.sort((a, b) => Number(b === first) - Number(a === first));
    const outcomes = chosen.map((name) => this.#lowerSignature(name));
    const { operators } = this.#options;
    const uses = [...this.#met].map(
      ([op, count]): OperatorUse => ({ op, count, supported: Object.hasOwn(operators, op) }),
    );
    return {
      format: source.format,
      tags: source.tags,
      tensorflowVersion: source.tensorflowVersion,
      signatureDefs: names.map((name) => [name, this.#signature(name)]),
      graphs: outcomes.flatMap((one) => one.graph ?? []),
      weights: this.#weights.weights,
      states: this.#states,
      blocked: outcomes.flatMap((one) => one.blocked ?? []),
      operators: uses.sort((a, b) => (a.op < b.op ? -1 : 1)),
      warnings: [
        ...source.warnings,
        ...state.warnings,
        ...this.#warnings,
        ...drawsWarning(this.#draws),
      ],
    };
  }

  #signature(name: string): SignatureDef {
    const signature = this.#prepared.source.signatures.get(name);
    if (signature === undefined) throw new RangeError(`no signature ${name}`);
    return signature;
  }

  /**
   * Lowers it repeatedly while that reveals more lists whose items differ in shape. If a later
   * attempt fails, an earlier successful one is kept.
   */
  #lowerSignature(name: string): Outcome {
    const varied = new Map<string, readonly VariedPart[]>();
    let best: Attempt | undefined;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const known = varied.size;
      const made = this.#attempt(name, varied);
      if (made.outcome.graph !== undefined || best?.outcome.graph === undefined) best = made;
      if (varied.size === known) break;
    }
    for (const [op, count] of best?.met ?? []) this.#met.set(op, (this.#met.get(op) ?? 0) + count);
    for (const warning of best?.warnings ?? []) this.#warnings.add(warning);
    if (best?.outcome.graph !== undefined && best.draws.size > 0) {
      this.#draws.set(name, [...best.draws]);
    }
    return best?.outcome ?? {};
  }

  #attempt(name: string, varied: Map<string, readonly VariedPart[]>): Attempt {
    const met = new Map<string, number>();
    const warnings = new Set<string>();
    const draws = new Set<DrawSource>();
    const own = { varied, met, warnings, draws };
    return { met, warnings, draws, outcome: this.#tried(name, own) };
  }

  #tried(name: string, own: Pick<SignatureJob, 'varied' | 'met' | 'warnings' | 'draws'>): Outcome {
    const problems: LoweringProblem[] = [];
    try {
      const graph = new SignatureLowering(name, this.#signature(name), {
        prepared: this.#prepared,
        options: this.#options,
        effects: this.#effects,
        ...own,
        weights: this.#weights,
        mutable: this.#mutableVariables(),
        problems,
        stateOf: (key) => this.#stateOf(key),
        keyOf: this.#keyOf,
      }).run();
      if (graph !== undefined) return { graph };
    } catch (error) {
      if (!(error instanceof ServalError) || error.code === ErrorCode.Internal) throw error;
      problems.push({ op: 'signature', node: name, reason: error.message });
    }
    return { blocked: { signature: name, problems: grouped(problems) } };
  }

  #mutable: ReadonlySet<string> | undefined;

  /** Variables that any signature assigns while serving. */
  #mutableVariables(): ReadonlySet<string> {
    this.#mutable ??= findMutable(this.#prepared, this.#effects, this.#keyOf);
    return this.#mutable;
  }

  #stateOf(key: string): number {
    let index = this.#stateIndex.get(key);
    if (index === undefined) {
      const initial = this.#prepared.state.variables.get(key);
      if (initial === undefined) {
        throw new ServalError(
          ErrorCode.Unimplemented,
          `variable '${key}' has no value: neither the checkpoint nor the init op sets it`,
        );
      }
      index = this.#states.length;
      this.#states.push({ name: key, weight: this.#weights.add(initial) });
      this.#stateIndex.set(key, index);
    }
    return index;
  }
}

/** Variables that are assigned in the computation of some signature's outputs. */
function findMutable(
  prepared: PreparedModel,
  effects: Effects,
  keyOf: (node: FlatNode) => string,
): ReadonlySet<string> {
  const found = new Set<string>();
  const touched = effects.of(prepared.main);
  if (touched.size === 0) return found;
  const seen = new Set<string>();
  const queue = [...prepared.source.signatures]
    .filter(([name]) => name !== INIT_SIGNATURE)
    .flatMap(([, signature]) => [...signature.outputs.values()])
    .flatMap((info) => (info.name === undefined ? [] : [tensorOf(info.name).node]));
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const node = prepared.main.nodes.get(name);
    if (node === undefined || seen.has(name)) continue;
    seen.add(name);
    if (ASSIGNING.has(node.op)) {
      const variable = variableBehind(prepared, node);
      if (variable !== undefined) found.add(keyOf(variable));
    } else if (touched.has(name) && ['If', 'While', 'Case'].includes(node.op)) {
      // A branch can only assign resources that are passed to it.
      for (const ref of node.inputs) {
        const variable = variableBehind(prepared, prepared.main.nodes.get(ref.node));
        if (variable !== undefined) found.add(keyOf(variable));
      }
    }
    queue.push(...node.inputs.map((ref) => ref.node));
    queue.push(...node.control.filter((one) => touched.has(one)));
  }
  return found;
}

const PASSING: ReadonlySet<string> = new Set(['Identity', 'RefIdentity', 'Switch', 'RefSwitch']);

function variableBehind(prepared: PreparedModel, from: FlatNode | undefined): FlatNode | undefined {
  let node = from;
  for (let steps = 0; node !== undefined && steps < 100; steps++) {
    if (isVariable(node)) return node;
    if (!ASSIGNING.has(node.op) && !PASSING.has(node.op)) return undefined;
    node = prepared.main.nodes.get(node.inputs[0]?.node ?? '');
  }
  return undefined;
}

function grouped(problems: readonly LoweringProblem[]): BlockedSignature['problems'] {
  const groups = new Map<string, { op: string; node: string; count: number; reason: string }>();
  for (const { op, node, reason } of problems) {
    const key = `${op}\n${reason}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { op, node, count: 1, reason });
    else group.count += 1;
  }
  return [...groups.values()];
}
