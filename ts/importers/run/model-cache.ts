// Keeps finished imports in a folder, so that the next start does not import again. An entry is a
// folder named by its key: the import's result, with the blob of weights or the plan beside it.
// Importer's worker thread; several processes may share the folder. The key covers the version of
// this program, the request, and the content of every file of the model, except a checkpoint's data
// files: their checksums are in its index, which is covered. An entry is only used if its folder
// and files belong to this user and nobody else can write them, and if its digest matches its
// content and its key: an entry that another user made or moved there is not read.
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { OWN_FILE_MODE, OWN_FOLDER_MODE } from '../../base/own-file.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { PLAN_VERSION } from '../../base/generated/plan-version.js';
import { MODEL_FILE_DEPTH_MAX, MODEL_FILES_MAX } from '../../base/limits.js';
import { isTabularImport, type ImportRequest } from './importer.js';
import type { ImportedTabular } from '../plan/imported.js';
import type { ImportedModel } from '../tensorflow/imported.js';

type Imported = ImportedModel | ImportedTabular;

/** Import format version: increase it with every change of the lowering that changes results. */
const CACHE_FORMAT = 7;
const ENTRY_FILE = 'import.bin';
const WEIGHTS_FILE = 'weights.bin';
/** A tabular plan. */
export const PLAN_FILE = 'plan.bin';
/**
 * Limits on the files of one model and the nesting of its folders. Tabular models have those of
 * their reader.
 */
const GRAPH_FILES = { filesMax: 10_000, depthMax: 16 };
const TABULAR_FILES = { filesMax: MODEL_FILES_MAX, depthMax: MODEL_FILE_DEPTH_MAX };
/** Data files of version 2 checkpoints: "variables.data-00000-of-00001". */
const CHECKSUMMED = /\.data-\d{5}-of-\d{5}$/;
const READ_BYTES_MAX = 2 ** 31 - 1;

/**
 * A key that differs whenever the import could. `planVersion`: the version of tabular models'
 * plans. Errors: ModelInvalid: unreadable, more than `bytesMax` bytes to read, too many files.
 */
export function cacheKey(
  request: ImportRequest,
  programVersion: string,
  bytesMax = Infinity,
  planVersion = PLAN_VERSION,
): string {
  const hash = createHash('sha256');
  const { format, path } = request;
  const { filesMax, depthMax } = format === 'tensorflow' ? GRAPH_FILES : TABULAR_FILES;
  const versions = [
    CACHE_FORMAT,
    programVersion,
    ...(format === 'tensorflow' ? [] : [planVersion]),
  ];
  hash.update(JSON.stringify([...versions, format, ...askedOf(request), path]));
  let files = 0;
  let bytes = 0;
  const visit = (at: string, name: string, depth: number): void => {
    files += 1;
    if (files > filesMax || depth > depthMax) throw new RangeError('too many files');
    const stats = statSync(at);
    hash.update(`\n${name}\n${stats.isDirectory() ? 'folder' : stats.size}\n`);
    if (stats.isDirectory()) {
      for (const child of readdirSync(at).sort()) {
        visit(join(at, child), `${name}/${child}`, depth + 1);
      }
    } else if (stats.isFile() && !CHECKSUMMED.test(name) && stats.size <= READ_BYTES_MAX) {
      bytes += stats.size;
      if (bytes > bytesMax) throw new RangeError(`more than ${bytesMax} bytes`);
      hash.update(readFileSync(at));
    } else {
      // Also used for anything but a regular file: reading a pipe or a device might never end.
      hash.update(String(stats.mtimeMs));
    }
  };
  try {
    visit(path, '', 0);
    if (request.format !== 'tensorflow' && request.schema !== '') {
      visit(request.schema, 'schema', 0);
    }
    if (request.format !== 'tensorflow' && request.background !== undefined) {
      visit(request.background, 'background', 0);
    }
  } catch (error) {
    const why = reasonOf(error);
    throw new ServalError(ErrorCode.ModelInvalid, `${path}: cannot be read: ${why}`);
  }
  return hash.digest('hex');
}

function askedOf(request: ImportRequest): readonly unknown[] {
  if (request.format !== 'tensorflow') return [request.timezone, request.ansi, request.answer];
  const { tags, inputs, outputs, first, signatures, allowRandom = true } = request;
  return [tags, inputs, outputs, first, signatures, allowRandom];
}

/** Maximum bytes of a model's files to read on the calling thread; larger ones go to a worker. */
const QUICK_BYTES_MAX = 32 * 1024 * 1024;

/**
 * The cached import of a model whose key is quickly computed: avoids a worker thread, whose start
 * would take longer. undefined: none, or a worker must look it up. Any thread.
 */
export function quicklyCached<Model extends Imported>(
  request: ImportRequest,
  programVersion: string,
): Model | undefined {
  const { cacheFolder } = request;
  if (cacheFolder === '') return undefined;
  try {
    return readCached(cacheFolder, cacheKey(request, programVersion, QUICK_BYTES_MAX));
  } catch {
    return undefined; // the worker finds the same error and reports it
  }
}

const DIGEST_BYTES = 32;
const OTHERS_WRITE = 0o022;

/** Digest of an entry: its content and its key. */
const digestOf = (key: string, content: Uint8Array): Buffer =>
  createHash('sha256').update(`${key}\n`).update(content).digest();

/** The file's owner is this user; its folder is not writable by others. */
const isOwn = ({ uid }: { readonly uid: number }): boolean => uid === process.geteuid?.();

/** Reads an entry's file, without following a link. undefined: it does not belong to this user. */
function readOwn(path: string): Buffer | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const about = fstatSync(file);
    return about.isFile() && isOwn(about) ? readFileSync(file) : undefined;
  } finally {
    closeSync(file);
  }
}

/** The size of a file beside it; -1: it does not belong to this user. */
function ownSize(path: string): number {
  const about = lstatSync(path);
  return about.isFile() && isOwn(about) ? about.size : -1;
}

/**
 * The cached import; undefined if there is none, it is damaged, or others could have written it.
 */
export function readCached<Model extends Imported>(folder: string, key: string): Model | undefined {
  const entry = join(folder, key);
  try {
    const about = lstatSync(entry);
    const isClosed = (about.mode & OTHERS_WRITE) === 0;
    if (!about.isDirectory() || !isOwn(about) || !isClosed) return undefined;
    const bytes = readOwn(join(entry, ENTRY_FILE));
    if (bytes === undefined) return undefined;
    const content = bytes.subarray(DIGEST_BYTES);
    if (!bytes.subarray(0, DIGEST_BYTES).equals(digestOf(key, content))) return undefined;
    const model = deserialize(content) as Model;
    if (isTabularImport(model)) {
      const plan = join(entry, PLAN_FILE);
      return ownSize(plan) === model.planBytes ? { ...model, plan } : undefined;
    }
    const blob = join(entry, WEIGHTS_FILE);
    for (const { path, offset, byteLength } of model.weights) {
      if (path === blob && ownSize(path) < offset + byteLength) return undefined;
    }
    return model;
  } catch {
    return undefined;
  }
}

/** Creates a folder in the cache for an import's files, not yet an entry. */
export function beginEntry(folder: string): string {
  const building = join(folder, `building-${process.pid}-${randomBytes(8).toString('hex')}`);
  mkdirSync(building, { recursive: true, mode: OWN_FOLDER_MODE });
  return building;
}

/**
 * Turns the contents of `building` into the entry, and returns the import with its files' new
 * paths. If another process was faster, its entry is used.
 */
export function finishEntry<Model extends Imported>(
  folder: string,
  key: string,
  building: string,
  model: Model,
): Model {
  const entry = join(folder, key);
  const moved = withFilesIn(entry, building, model) as Model;
  const content = serialize(moved);
  const bytes = Buffer.concat([digestOf(key, content), content]);
  writeFileSync(join(building, ENTRY_FILE), bytes, { mode: OWN_FILE_MODE });
  try {
    renameSync(building, entry);
  } catch {
    const other = readCached<Model>(folder, key);
    if (other !== undefined) {
      rmSync(building, { recursive: true, force: true });
      return other;
    }
    replaceEntry(entry, building);
  }
  return moved;
}

/** The import with the final paths of its files. */
function withFilesIn(entry: string, building: string, model: Imported): Imported {
  if (isTabularImport(model)) return { ...model, plan: join(entry, PLAN_FILE) };
  return {
    ...model,
    weights: model.weights.map((weight) =>
      weight.path === join(building, WEIGHTS_FILE)
        ? { ...weight, path: join(entry, WEIGHTS_FILE) }
        : weight,
    ),
  };
}

/** Replaces a damaged entry by `building`. */
function replaceEntry(entry: string, building: string): void {
  const damaged = `${building}-damaged`;
  try {
    renameSync(entry, damaged);
    renameSync(building, entry);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(damaged, { recursive: true, force: true });
  }
}
