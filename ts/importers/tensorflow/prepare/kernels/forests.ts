// Interpreter kernels for models of TensorFlow Decision Forests: YDF's files among the assets.
// Importer's worker thread (reads files). Source: tensorflow_decision_forests/tensorflow/ops/
// inference/{kernel.cc,api.py}.
import { basename, dirname } from 'node:path';
import { modelInvalid } from '../../../../base/errors.js';
import { PARTS, readEnsemble } from '../../../ydf/ensemble.js';
import { attributeOf, textAttribute } from '../attributes.js';
import type { Kernel, KernelCall, Kernels } from '../interpreter.js';
import { resourceId } from '../state.js';
import { stringsOf } from '../tensors.js';
import { handleInput, tensorInput } from './inputs.js';
import { readAsset } from './text-file.js';

const DONE = 'done';

const make: Kernel = ({ node }) => [{ id: resourceId(node), node }];

/** The texts of an attribute that is a list. */
function listed(call: KernelCall, name: string): readonly string[] {
  const list = attributeOf(call.node.attributes, name, 'list');
  return (list?.bytes ?? []).map((bytes) => Buffer.from(bytes).toString());
}

/**
 * The assets below the folder that the operator asks for, by their names without the prefix.
 * Errors: ModelInvalid if it is not the folder of the model's assets: no other files are read.
 */
function filesOf(call: KernelCall, prefix: string): ReadonlyMap<string, string> {
  const [bytes = Buffer.alloc(0), ...more] = stringsOf(tensorInput(call, 1));
  if (more.length > 0) throw modelInvalid('path: expected one text');
  const path = Buffer.from(bytes).toString();
  // Writers make the folder from the path of an asset, by removing its name wherever it is.
  const plain = (folder: string): string =>
    folder.replaceAll(`${prefix}${DONE}`, '').replace(/\/+$/, '');
  const found = new Map<string, string>();
  for (const asset of call.session.assetPaths) {
    const name = basename(asset);
    if (plain(dirname(asset)) !== plain(path) || !name.startsWith(prefix)) continue;
    const part = name.slice(prefix.length);
    if (PARTS.test(part)) found.set(part, asset);
  }
  if (found.size > 0) return found;
  const shown = JSON.stringify(path);
  throw modelInvalid(`${shown} has no assets of the model that begin with '${prefix}'`);
}

const load: Kernel = (call) => {
  const { id } = handleInput(call, 0);
  const prefix = textAttribute(call.node.attributes, 'file_prefix');
  const parts = new Map<string, Uint8Array>();
  for (const [part, path] of filesOf(call, prefix)) parts.set(part, readAsset(path));
  const isGeneral = listed(call, 'output_types').length > 0;
  call.session.state.forests.set(id, { ensemble: readEnsemble(parts), isGeneral });
  call.session.state.spoiled.delete(id);
  return [];
};

export const FOREST_KERNELS: Kernels = {
  SimpleMLCreateModelResource: make,
  SimpleMLLoadModelFromPathWithHandle: load,
};
