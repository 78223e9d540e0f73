// Loads a TensorRT engine (model.plan) through an ONNX model around it, in a dedicated folder that
// exists during the load; for an isolated model it exists while the model is loaded, since its
// process may load it again. Control plane, main thread.
import { constants } from 'node:fs';
import { copyFile, link, open, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ONNX_FILE, TENSORRT_FILE } from '../../../base/file-names.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import type {
  EngineControl,
  LoadedModel,
  ModelSpec,
  ProviderOptions,
} from '../../../model/engine-api.js';
import { AUTO, type GpuFacts } from '../placement.js';
import { TENSORRT } from './cache.js';
import { makeHeldFolder, tensorRtPlace, type Locks } from './held-folders.js';
import { TENSORRT_HEAD_BYTES, tensorRtModel, tensorRtProblem } from './wrapper.js';

/** Prefix of engine-building options, which are not needed here. */
const PROFILE_PREFIX = 'trt_profile_';

/**
 * Errors: ModelInvalid (no engine, no tensors in the configuration, KIND_CPU); RuntimeUnavailable:
 * no GPU or no TensorRT, with the reason. `facts`: called if --providers leaves the choice open.
 * `cacheFolder`: where the folder is made; "" = the system's temporary folder.
 */
export async function loadTensorRt(
  engine: EngineControl,
  spec: ModelSpec,
  facts: () => GpuFacts,
  cacheFolder: string,
  locks: Locks,
): Promise<LoadedModel> {
  const { path = '', tensorRt, ...rest } = spec;
  if (tensorRt === undefined)
    throw new ServalError(ErrorCode.Internal, 'a TensorRT engine without tensors');
  const bytes = await checkFile(path);
  const model = about(path, () => tensorRtModel(tensorRt, TENSORRT_FILE));
  const providers = about(path, () => tensorRtProviders(spec, facts));
  const folder = await makeHeldFolder(tensorRtPlace(cacheFolder), locks);
  let keeps = false;
  try {
    const wrapper = join(folder, ONNX_FILE);
    await writeFile(wrapper, model);
    await linkOrCopy(path, join(folder, TENSORRT_FILE));
    // Optimizers cannot improve a single node, so they are turned off.
    const own = { ...rest, path: wrapper, providers, graphOptimization: 0, ownFolder: folder };
    const loaded = await engine.load(own);
    keeps = loaded.keepsFolder === true;
    const on = providers.map(({ name }) => name).join(', ');
    const placed = { providers: on, why: 'it is a TensorRT engine' };
    return { ...loaded, producer: 'tensorrt', fileBytes: bytes, placed };
  } catch (error) {
    throw named(error, folder, path);
  } finally {
    if (!keeps) await rm(folder, { recursive: true, force: true });
  }
}

/** TensorRT, then CUDA. Errors: as loadTensorRt's. */
export function tensorRtProviders(
  spec: ModelSpec,
  facts: () => GpuFacts,
): readonly ProviderOptions[] {
  const { placement } = spec;
  if (placement?.kind === 'cpu') {
    throw new ServalError(
      ErrorCode.ModelInvalid,
      'a TensorRT engine runs on a GPU only: expected no KIND_CPU in its configuration',
    );
  }
  const asked = (spec.providers ?? []).filter(({ name }) => name !== AUTO);
  const cuda = asked.find(({ name }) => name === 'cuda') ?? {
    name: 'cuda',
    options: placement?.cuda ?? {},
  };
  const tensorrt = asked.find(({ name }) => name === TENSORRT);
  if (tensorrt !== undefined) return [withoutProfiles(tensorrt), cuda];
  if (asked.length > 0 && !asked.includes(cuda)) {
    const got = asked.map(({ name }) => name).join(', ');
    throw new ServalError(
      ErrorCode.ModelInvalid,
      `a TensorRT engine runs on a GPU only: expected tensorrt among --providers, got ${got}`,
    );
  }
  const { obstacle, tensorrt: installed } = facts();
  const why =
    obstacle !== '' || installed ? obstacle : 'no TensorRT: serval gpu install --tensorrt';
  if (why !== '') {
    throw new ServalError(
      ErrorCode.RuntimeUnavailable,
      `a TensorRT engine runs on a GPU only: ${why}`,
    );
  }
  const device = cuda.options['device_id'];
  const own = { ...placement?.tensorrt, ...(device === undefined ? {} : { device_id: device }) };
  return [withoutProfiles({ name: TENSORRT, options: own }), cuda];
}

function withoutProfiles(provider: ProviderOptions): ProviderOptions {
  const kept = Object.entries(provider.options).filter(([key]) => !key.startsWith(PROFILE_PREFIX));
  return { ...provider, options: Object.fromEntries(kept) };
}

/** Returns the file's size in bytes. */
async function checkFile(path: string): Promise<number> {
  const fail = (why: string): ServalError =>
    new ServalError(ErrorCode.ModelInvalid, `model file ${path}: ${why}`);
  try {
    const { size } = await stat(path);
    const problem = tensorRtProblem(await tensorRtHead(path), size);
    if (problem !== undefined) throw fail(problem);
    return size;
  } catch (error) {
    throw error instanceof ServalError ? error : fail((error as Error).message);
  }
}

/** Reads the first bytes of a file. Errors: the file system's. */
export async function tensorRtHead(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(TENSORRT_HEAD_BYTES), 0, null, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * ONNX Runtime follows no link out of the model's folder, so this makes a hard link if both are on
 * one file system, else a copy.
 */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

/** Prefixes errors with the engine's path. */
function about<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ServalError)) throw error;
    throw new ServalError(error.code, `model file ${path}: ${error.message}`);
  }
}

/** Replaces paths of the temporary folder by the engine's path in error texts. */
function named(error: unknown, folder: string, path: string): unknown {
  if (!(error instanceof ServalError)) return error;
  const files = [join(folder, TENSORRT_FILE), join(folder, ONNX_FILE)];
  const text = files.reduce((message, file) => message.replaceAll(file, path), error.message);
  return text === error.message ? error : new ServalError(error.code, text);
}
