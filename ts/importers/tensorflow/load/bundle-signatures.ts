// Converts the signatures of a session bundle's manifest to SignatureDefs. Importer's worker
// thread; pure. Source: tensorflow/contrib/session_bundle/bundle_shim.cc, its last version;
// tensorflow-import.md 1.5.
import { modelInvalid } from '../../../base/errors.js';
import {
  CLASSIFY_METHOD,
  DEFAULT_SIGNATURE,
  PREDICT_METHOD,
  REGRESS_METHOD,
} from '../../../base/signatures.js';
import { codeOfDtype } from '../../../model/datatype.js';
import type { ManifestSignature, ManifestSignatures } from '../proto/manifest.js';
import type { OpTable } from '../proto/op-defs.js';
import type { GraphDef, NodeDef, SignatureDef, TensorInfoDef } from '../types.js';
import { nodesByName, tensorOf } from './meta-graph-parts.js';

const FROM_NAMED_KEY = `${DEFAULT_SIGNATURE}_from_named`;
const METHODS = {
  regression: REGRESS_METHOD,
  classification: CLASSIFY_METHOD,
  generic: PREDICT_METHOD,
} as const;
const INPUTS = 'inputs';
const OUTPUTS = 'outputs';

type Names = readonly (readonly [alias: string, tensor: string])[];

/**
 * Adds the manifest's signatures to `signatures` (the meta graph's own). Errors: ModelInvalid if
 * both have a default.
 */
export function convertSignatures(
  manifest: ManifestSignatures,
  signatures: Map<string, SignatureDef>,
  graph: GraphDef,
  ops: OpTable,
  warnings: string[],
): void {
  new Conversion(signatures, nodesByName(graph), ops, warnings).run(manifest);
}

class Conversion {
  readonly #signatures: Map<string, SignatureDef>;
  readonly #nodes: ReadonlyMap<string, NodeDef>;
  readonly #ops: OpTable;
  readonly #warnings: string[];

  constructor(
    signatures: Map<string, SignatureDef>,
    nodes: ReadonlyMap<string, NodeDef>,
    ops: OpTable,
    warnings: string[],
  ) {
    this.#signatures = signatures;
    this.#nodes = nodes;
    this.#ops = ops;
    this.#warnings = warnings;
  }

  run({ defaultSignature, named }: ManifestSignatures): void {
    if (defaultSignature !== undefined) this.#default(defaultSignature);
    const inputs = named.get(INPUTS);
    const outputs = named.get(OUTPUTS);
    const isPair = inputs?.kind === 'generic' && outputs?.kind === 'generic';
    if (isPair) {
      const key = this.#signatures.has(DEFAULT_SIGNATURE) ? FROM_NAMED_KEY : DEFAULT_SIGNATURE;
      this.#add(key, 'generic', [...inputs.tensors], [...outputs.tensors]);
    }
    // Sorted for a stable order of warnings: a map in a file has no order.
    for (const name of [...named.keys()].sort()) {
      if (isPair && (name === INPUTS || name === OUTPUTS)) continue;
      this.#named(name, named.get(name) ?? { kind: 'none' });
    }
  }

  #default(signature: ManifestSignature): void {
    if (this.#signatures.has(DEFAULT_SIGNATURE)) {
      throw modelInvalid(
        `signature ${DEFAULT_SIGNATURE}: expected it in the signatures of the meta ` +
          'graph or as the default of serving_signatures, got both',
      );
    }
    if (this.#convert(DEFAULT_SIGNATURE, signature)) return;
    this.#warnings.push(
      'the default signature of serving_signatures is ignored: only regression ' +
        `and classification can be the default, got ${kindText(signature)}`,
    );
  }

  #named(name: string, signature: ManifestSignature): void {
    if (this.#signatures.has(name)) {
      this.#warnings.push(
        `the named signature "${name}" of serving_signatures is ignored: a ` +
          'signature of this name already exists',
      );
      return;
    }
    if (this.#convert(name, signature)) return;
    this.#warnings.push(
      `the named signature "${name}" of serving_signatures is ignored: it is ` +
        `${kindText(signature)}, and only "${INPUTS}" with "${OUTPUTS}" can be served of those`,
    );
  }

  /** false: its kind cannot be served alone. */
  #convert(key: string, signature: ManifestSignature): boolean {
    switch (signature.kind) {
      case 'regression':
        this.#add(key, 'regression', [[INPUTS, signature.input]], [[OUTPUTS, signature.output]]);
        return true;
      case 'classification':
        this.#add(
          key,
          'classification',
          [[INPUTS, signature.input]],
          [
            ['classes', signature.classes],
            ['scores', signature.scores],
          ],
        );
        return true;
      case 'generic':
      case 'none':
        return false;
    }
  }

  #add(key: string, kind: keyof typeof METHODS, inputs: Names, outputs: Names): void {
    this.#signatures.set(key, {
      methodName: METHODS[kind],
      inputs: this.#infos(key, inputs),
      outputs: this.#infos(key, outputs),
      defaults: new Map(),
    });
  }

  /** Tensors without a name are omitted. */
  #infos(key: string, names: Names): ReadonlyMap<string, TensorInfoDef> {
    const infos = new Map<string, TensorInfoDef>();
    for (const [alias, name] of names) {
      if (name !== '') infos.set(alias, { name, dtypeCode: this.#dtypeCode(key, alias, name) });
    }
    return infos;
  }

  /** The type of the actual port; TensorFlow used that of port 0. */
  #dtypeCode(key: string, alias: string, name: string): number {
    const { node, output } = tensorOf(name);
    const found = this.#nodes.get(node);
    const dtype = found === undefined ? undefined : this.#ops.outputDtype(found, output);
    if (dtype !== undefined) return codeOfDtype(dtype);
    const why =
      found === undefined
        ? 'the graph has no such tensor'
        : `the operator ${found.op} does not declare its type`;
    this.#warnings.push(`signature ${key}: "${alias}" is ${name}: ${why}`);
    return 0;
  }
}

function kindText(signature: ManifestSignature): string {
  return signature.kind === 'none' ? 'empty' : signature.kind;
}
