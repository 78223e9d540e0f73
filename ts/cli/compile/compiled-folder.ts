// Writes what the engine gets to load a model as a folder that contains everything it names:
// libserval.so (native/capi) opens such a folder without Node. Control plane, main thread.
import { constants } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { ErrorCode, ServalError, modelInvalid } from '../../base/errors.js';
import { ONNX_FILE } from '../../base/file-names.js';
import { writeModelSpec } from '../../engine/flat.js';
import { externalFiles } from '../../importers/onnx/external-files.js';
import type { ModelSpec } from '../../model/engine-api.js';

/** The specification's file, as native/capi/model_files.h names it, and the bytes before it. */
const SPEC_FILE = 'model.serval';
const MAGIC = Buffer.from('serval model 1\n\0', 'latin1');
const PLAN_FILE = 'plan.bin';

/**
 * Writes the folder, which must exist. `spec`: as the engine gets it, with its files still there.
 * Errors: Unimplemented: a TensorRT engine; ModelInvalid: a file that cannot be copied.
 */
export async function writeCompiled(folder: string, spec: ModelSpec): Promise<void> {
  if (spec.ownFolder !== undefined) {
    throw new ServalError(
      ErrorCode.Unimplemented,
      `${spec.path}: a TensorRT engine cannot be compiled: it fits one machine; serve it there`,
    );
  }
  const path = await copyModel(folder, spec);
  const weightFiles: string[] = [];
  for (const [index, file] of (spec.weightFiles ?? []).entries()) {
    weightFiles.push(await copyTo(folder, file, `weights-${index}.bin`));
  }
  const moved = { ...spec, path, weightFiles };
  await writeFile(join(folder, SPEC_FILE), Buffer.concat([MAGIC, writeModelSpec(moved)]));
}

/** Returns the path of the model's file in the folder; "": the graphs are the model. */
async function copyModel(folder: string, spec: ModelSpec): Promise<string> {
  const { path = '', backend, graphs = [] } = spec;
  if (graphs.length > 0 || backend === 'null') return '';
  if (backend === 'tabular') return copyTo(folder, path, PLAN_FILE);
  for (const location of await externalFiles(path)) {
    if (location === '' || isAbsolute(location) || normalize(location).startsWith('..')) {
      throw modelInvalid(path, `external data '${location}': expected a file below its folder`);
    }
    await copyTo(folder, join(dirname(path), location), location);
  }
  return copyTo(folder, path, ONNX_FILE);
}

async function copyTo(folder: string, from: string, name: string): Promise<string> {
  const to = join(folder, name);
  await mkdir(dirname(to), { recursive: true });
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  } catch (error) {
    throw modelInvalid(from, (error as Error).message);
  }
  return name;
}
