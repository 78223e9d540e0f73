// MLeap bundles: a folder or a zip with bundle.json and the nodes of a pipeline. Importer's worker
// thread.
// Source: tabular.md 4
import { PlanBuilder } from '../plan/builder.js';
import { type ModelFiles, openModelFiles } from '../plan/archive/index.js';
import type { Plan } from '../plan/generated/plan.js';
import { Problems } from '../plan/problems.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { Bundle } from './bundle/reader.js';
import { BundleFrame, OpNode } from './node.js';
import { MLEAP_OPS, REFUSED_OPS } from './ops/index.js';

export { MLEAP_OPS, REFUSED_OPS } from './ops/index.js';

const ROOT = 'root';
/** Pipelines inside each other, and nodes of all of them. */
const DEPTH_MAX = 64;
const NODES_MAX = 100_000;

export interface MleapImport {
  readonly plan: Plan;
  readonly warnings: readonly string[];
  /** Empty: the features that Shapley values are of have no names. */
  readonly features: readonly string[];
}

/** Errors: ModelInvalid: no bundle, a broken one, or all that is not supported in it. */
export async function importMleap(path: string): Promise<MleapImport> {
  const files = await openModelFiles(path);
  try {
    return await importBundle(files);
  } finally {
    await files.close();
  }
}

export async function importBundle(files: ModelFiles): Promise<MleapImport> {
  const bundle = await Bundle.open(files);
  const problems = new Problems();
  const builder = new PlanBuilder('mleap', `MLeap ${bundle.info.version}`);
  const frame = new BundleFrame(builder, problems);
  const pipeline = new Pipeline(bundle, frame, problems);
  await pipeline.lower(ROOT, 0);
  problems.throwIfAny('the MLeap bundle');
  frame.addOutputs(pipeline.predicts);
  try {
    return { plan: builder.finish(), warnings: [], features: [] };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ServalError(ErrorCode.ModelInvalid, `the MLeap bundle: ${error.message}`);
  }
}

class Pipeline {
  readonly #bundle: Bundle;
  readonly #frame: BundleFrame;
  readonly #problems: Problems;
  #nodes = 0;
  /** A node that predicts was lowered. */
  predicts = false;

  constructor(bundle: Bundle, frame: BundleFrame, problems: Problems) {
    this.#bundle = bundle;
    this.#frame = frame;
    this.#problems = problems;
  }

  /** Lowers the node in `folder`. A fault of one node does not stop the check of the others. */
  async lower(folder: string, depth: number): Promise<void> {
    this.#nodes += 1;
    if (depth > DEPTH_MAX || this.#nodes > NODES_MAX) {
      throw new ServalError(
        ErrorCode.ModelInvalid,
        `${folder}: expected at most ${DEPTH_MAX} nested pipelines and ${NODES_MAX} nodes`,
      );
    }
    try {
      const found = await this.#bundle.model(folder);
      if (found.op === 'pipeline') {
        for (const name of found.attributes.texts('nodes')) {
          await this.lower(`${folder}/${name}.node`, depth + 1);
        }
        return;
      }
      const node = new OpNode(this.#frame, this.#bundle, await this.#bundle.node(folder), found);
      await this.#lowerNode(node, found.op);
    } catch (error) {
      if (!(error instanceof ServalError) && !(error instanceof RangeError)) throw error;
      this.#problems.add(folder, error.message);
    }
  }

  async #lowerNode(node: OpNode, name: string): Promise<void> {
    const op = MLEAP_OPS.get(name);
    if (op === undefined) {
      const reason = REFUSED_OPS.get(name) ?? 'unknown op';
      node.problem(`the op '${name}' is not supported: ${reason}`);
      return;
    }
    await op.lower(node);
    this.predicts ||= op.predicts;
    this.#frame.endNode(op.predicts);
  }
}
