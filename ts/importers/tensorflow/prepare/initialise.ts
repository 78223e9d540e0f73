// Puts a model into the state in which a session would serve it: runs restore op, then init op, in
// the interpreter with the assets fed, as TensorFlow's loaders do. Importer's worker thread.
// Source: tensorflow/cc/saved_model/loader.cc; contrib/session_bundle/session_bundle.cc.
import { modelInvalid } from '../../../base/errors.js';
import type {
  Checkpoint,
  FlatGraph,
  FlatNode,
  Initialised,
  LoadedForest,
  LoadedGraph,
  PreparedModel,
  Ref,
  TableContents,
  Tensor,
} from '../types.js';
import { quoted } from './quoted.js';
import { Run, runBudget, type Session, type Value } from './interpreter.js';
import { KERNELS } from './kernels/index.js';
import { WARNINGS_MAX } from './limits.js';
import { refKey } from './prune.js';
import { type Failure, resourceId, resourceKind, SessionState } from './state.js';
import { restoreByName } from './stored/by-name.js';
import { restoreByObjects } from './stored/by-object.js';
import { stringsTensor } from './tensors.js';

const SHOWN_FAILURES = 8;

export interface InitialiseParts {
  readonly source: LoadedGraph;
  readonly checkpoint: Checkpoint | undefined;
  readonly main: FlatGraph;
  readonly function: PreparedModel['function'];
  /** Names of the nodes that some signature needs. */
  needed(): ReadonlySet<string>;
}

/** "a", "a:1" -> the tensor. undefined if it does not have this form. */
export function parseTensorName(name: string): Ref | undefined {
  const match = /^([^:^]+)(?::(\d{1,9}))?$/.exec(name);
  return match === null ? undefined : { node: match[1] ?? '', output: Number(match[2] ?? 0) };
}

/**
 * Errors: ModelInvalid, naming operators and nodes, if a variable or table that a signature needs
 * could not be initialised. Other failures are warnings.
 */
export function initialise(parts: InitialiseParts): Initialised {
  return new Initialising(parts).run();
}

class Initialising {
  readonly #parts: InitialiseParts;
  readonly #state = new SessionState();
  readonly #budget = runBudget();
  readonly #failures: Failure[] = [];
  readonly #warnings = new Set<string>();

  constructor(parts: InitialiseParts) {
    this.#parts = parts;
  }

  run(): Initialised {
    const { source, checkpoint, main } = this.#parts;
    const restoreOp = source.saver === undefined ? undefined : nodeName(source.saver.restoreOp);
    if (checkpoint !== undefined) {
      const hasRestoreOp = restoreOp !== undefined && main.nodes.has(restoreOp);
      if (hasRestoreOp) this.#runOp(restoreOp, true);
      restoreByObjects(source, main, checkpoint, this.#state);
      if (!hasRestoreOp && source.objects === undefined) this.#restoreByName(checkpoint);
    }
    if (source.initOp !== undefined) this.#runOp(nodeName(source.initOp), false);
    this.#judge();
    return { ...this.#contents(), warnings: this.#allWarnings() };
  }

  #runOp(name: string, isRestore: boolean): void {
    const { source, checkpoint, main } = this.#parts;
    const files = source.checkpoint;
    const prefix = files?.version === 2 ? files.prefix : (files?.files[0] ?? '');
    const fed = new Map<string, Value>();
    for (const { tensorName, path } of source.assets) feed(fed, tensorName, path);
    if (isRestore) feed(fed, source.saver?.filenameTensor ?? '', prefix);
    const session: Session = {
      state: this.#state,
      checkpoint,
      restorePrefix: isRestore ? prefix : undefined,
      assetPaths: new Set(source.assets.map(({ path }) => path)),
      function: (ref) => this.#parts.function(ref),
      warn: (text) => this.#warn(text),
      step: () => this.#budget.step(),
      spend: (elements) => this.#budget.spend(elements),
    };
    const run = new Run(main, KERNELS, session, fed, 0, this.#failures);
    run.run(name);
  }

  #restoreByName(checkpoint: Checkpoint): void {
    const missing = restoreByName(this.#parts.main, checkpoint, this.#state);
    this.#warn(
      'the graph has no restore op: variables are matched with the checkpoint by name' +
        (missing.length === 0 ? '' : `; not found: ${listed(missing.map(quoted))}`),
    );
  }

  // A failure matters if a signature reads something that it left uninitialised.
  #judge(): void {
    const { spoiled, variables } = this.#state;
    const lost = new Map<Failure, string[]>();
    const needed = spoiled.size + variables.size > 0 ? this.#parts.needed() : new Set<string>();
    for (const node of this.#resources()) {
      const failure = spoiled.get(resourceId(node));
      if (!needed.has(node.name)) continue;
      if (failure !== undefined) {
        const names = lost.get(failure) ?? [];
        lost.set(failure, names);
        names.push(quoted(node.name));
      }
      // Read now, so that damage is detected here.
      void variables.get(resourceId(node))?.data;
    }
    if (lost.size > 0) {
      const texts = [...lost].map(
        ([failure, names]) => `${listed(names, ', ')} by ${described(failure)}`,
      );
      throw modelInvalid(`could not be initialised: ${listed(texts)}`);
    }
    for (const failure of this.#failures) this.#warn(`not run: ${described(failure)}`);
  }

  #resources(): FlatNode[] {
    return [...this.#parts.main.nodes.values()].filter(({ op }) => resourceKind(op) !== undefined);
  }

  #contents(): Omit<Initialised, 'warnings'> {
    const variables = new Map<string, Tensor>();
    const tables = new Map<string, TableContents>();
    const blobs = new Map<string, Uint8Array>();
    const quantiles = new Map<string, readonly Tensor[]>();
    const forests = new Map<string, LoadedForest>();
    const byTable = new Map<string, TableContents>();
    for (const node of this.#resources()) {
      const id = resourceId(node);
      const variable = this.#state.variables.get(id);
      if (variable !== undefined) variables.set(node.name, variable);
      const blob = this.#state.blobs.get(id);
      if (blob !== undefined) blobs.set(node.name, blob);
      const boundaries = this.#state.quantiles.get(id);
      if (boundaries !== undefined) quantiles.set(node.name, boundaries);
      const forest = this.#state.forests.get(id);
      if (forest !== undefined) forests.set(node.name, forest);
      const table = this.#state.tables.get(id);
      if (table === undefined || !table.isInitialised) continue;
      const contents = byTable.get(id) ?? table.contents();
      byTable.set(id, contents);
      tables.set(node.name, contents);
    }
    return { variables, tables, blobs, quantiles, forests };
  }

  #warn(text: string): void {
    this.#warnings.add(text);
  }

  #allWarnings(): string[] {
    const all = [...this.#warnings];
    if (all.length <= WARNINGS_MAX) return all;
    return [...all.slice(0, WARNINGS_MAX), `and ${all.length - WARNINGS_MAX} more warnings`];
  }
}

function feed(fed: Map<string, Value>, tensorName: string, text: string): void {
  const ref = parseTensorName(tensorName);
  if (ref !== undefined) fed.set(refKey(ref), stringsTensor([], [Buffer.from(text, 'utf8')]));
}

// Ops are named without a port; some writers add one.
function nodeName(name: string): string {
  return parseTensorName(name)?.node ?? name;
}

function described({ op, node, reason }: Failure): string {
  return `${op} ${quoted(node)}: ${reason}`;
}

function listed(texts: readonly string[], separator = '; '): string {
  const shown = texts.slice(0, SHOWN_FAILURES).join(separator);
  return texts.length > SHOWN_FAILURES
    ? `${shown}${separator}and ${texts.length - SHOWN_FAILURES} more`
    : shown;
}
