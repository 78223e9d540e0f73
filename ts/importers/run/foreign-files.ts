// Recognises model files that Serval cannot run: Keras', PyTorch's and Python's own, weights
// without a graph, pointers of Git LFS. They are identified by content, and each text names the
// command that converts them. Control plane; loaded if a file is not a model, or one failed.
// Source: HDF5's and GGUF's signatures; safetensors' README "Format"; PyTorch's
// torch/serialization.py and caffe2/serialize; Python's pickletools; Keras' saving_lib; zip's
// APPNOTE 4.3; git-lfs spec; tflite schema.fbs; ONNX Runtime's ort.fbs.
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { constants, inflateSync } from 'node:zlib';
import { LITE_EXTENSION } from '../../base/file-names.js';
import { BOOSTER_HEAD_BYTES, type BoosterKind, boosterKind } from '../boosters/detect.js';
import { mayBeForeign } from './model-files.js';
import { toolArchive, toolKind } from './foreign-tools.js';

/** Bytes read from a file's front, and from its end if that lists the contents. */
const HEAD_BYTES = 4096;
const TAIL_BYTES = 65_557;
const DIRECTORY_BYTES_MAX = 1 << 20;
const SAFETENSORS_HEADER_BYTES_MAX = 100_000_000;
const PICKLE = 0x80;
const PICKLE_PROTOCOL_MAX = 5;
const ZIP_LOCAL = 'PK\u0003\u0004';
const ZIP_END = 'PK\u0005\u0006';
const HDF5 = '\u0089HDF\r\n\u001a\n';
const LFS = 'version https://git-lfs.github.com/spec/';

/**
 * The file's format and what to do, as the rest of a sentence after its path; undefined: unknown,
 * or unreadable.
 */
export async function foreignFile(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = await file.stat();
    const head = await readAt(file, 0, Math.min(size, HEAD_BYTES));
    const text = head.toString('latin1');
    if (text.startsWith(ZIP_LOCAL)) return zipKind(path, await zipNames(file, size), head);
    return plainKind(path, head, text, size);
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/** Which booster a file has, by its content; undefined: none, or unreadable. */
export async function boosterAt(path: string): Promise<BoosterKind | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return boosterKind(await readAt(file, 0, BOOSTER_HEAD_BYTES));
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/** The text for the first such file in a folder, with its path. */
export async function foreignIn(
  folder: string,
  names: readonly string[],
): Promise<string | undefined> {
  for (const name of names.slice(0, 32)) {
    const path = join(folder, name);
    const what = await foreignFile(path);
    if (what !== undefined) return `${path}: ${what}`;
  }
  return undefined;
}

/**
 * The text for a file among models that are served, with its path; undefined: it is no model, or
 * its name is not that of one.
 */
export async function foreignBeside(folder: string, name: string): Promise<string | undefined> {
  if (name.startsWith('.') || !mayBeForeign(name)) return undefined;
  const path = join(folder, name);
  const what = await foreignFile(path);
  return what === undefined ? undefined : `${path}: ${what}`;
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

function plainKind(path: string, head: Buffer, text: string, size: number): string | undefined {
  const name = basename(path);
  if (text.startsWith(LFS)) {
    return "is a pointer of Git LFS, not the model: run 'git lfs pull' in its working copy";
  }
  if (text.startsWith(HDF5)) return `is a Keras file in HDF5, ${kerasExport(name)}`;
  if (text.startsWith('GGUF')) {
    return (
      'is GGUF: quantized weights for llama.cpp, without a graph; export the model that it was made ' +
      "from: 'optimum-cli export onnx --model MODEL_ID FOLDER'"
    );
  }
  const mark = text.slice(4, 8);
  if (mark === 'TFL3' && extname(name) !== LITE_EXTENSION) {
    return `is a TensorFlow Lite model under another name: rename it to ${stem(name)}.tflite`;
  }
  if (mark === 'ORTM') {
    return "is in ONNX Runtime's own format; serve the .onnx file that it was made from";
  }
  if (isSavedModel(head, size)) {
    return 'is the file of a SavedModel under another name: rename it to saved_model.pb';
  }
  if (isSafetensors(head, size)) {
    const folder = dirname(path);
    return (
      'is safetensors: weights without a graph; export the model: ' +
      `'optimum-cli export onnx --model ${folder} ${folder}-onnx' if the folder is a Hugging ` +
      "Face model's; otherwise build it in Python, load the weights and use torch.onnx.export"
    );
  }
  const pickle = isPickle(head) ? head : unpacked(head);
  return pickle === undefined ? toolKind(name, head, text) : pickleKind(name, pickle);
}

function kerasExport(name: string): string {
  return (
    'which has no graph; make a SavedModel from it in Python: ' +
    `tf.keras.models.load_model('${name}').export('${stem(name)}')`
  );
}

function stem(name: string): string {
  return name.slice(0, name.length - extname(name).length);
}

/**
 * Whether the file is a SavedModel message: schema version 1, then one MetaGraphDef up to its end.
 * Source: saved_model.proto.
 */
function isSavedModel(head: Buffer, size: number): boolean {
  if (head[0] !== 0x08 || head[1] !== 1 || head[2] !== 0x12) return false;
  let length = 0;
  let at = 3;
  for (let shift = 1; at < 9; shift *= 128) {
    const byte = head[at++] ?? 0;
    length += (byte & 0x7f) * shift;
    if (byte < 0x80) break;
  }
  return at + length === size;
}

/** A length, followed by JSON of that length. */
function isSafetensors(head: Buffer, size: number): boolean {
  if (head.length < 10) return false;
  const length = Number(head.readBigUInt64LE(0));
  const fits = length >= 2 && length <= Math.min(size - 8, SAFETENSORS_HEADER_BYTES_MAX);
  return fits && head[8] === 0x7b && (head[9] === 0x22 || head[9] === 0x7d);
}

function isPickle(bytes: Buffer): boolean {
  const protocol = bytes[1] ?? 0;
  return bytes[0] === PICKLE && protocol >= 2 && protocol <= PICKLE_PROTOCOL_MAX;
}

/** The front of a pickle that joblib compressed with zlib. */
function unpacked(head: Buffer): Buffer | undefined {
  if (head[0] !== 0x78) return undefined;
  try {
    const bytes = inflateSync(head, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: HEAD_BYTES * 1024,
    });
    return isPickle(bytes) ? bytes.subarray(0, HEAD_BYTES) : undefined;
  } catch {
    return undefined;
  }
}

function pickleKind(name: string, pickle: Buffer): string {
  const text = pickle.toString('latin1');
  const onnx = `${stem(name)}.onnx`;
  const start = 'is a pickle, which only Python can load; convert it there: ';
  if (isWeights(pickle) || /torch/.test(text)) return torchKind(name, isWeights(pickle));
  if (text.includes('lightgbm')) {
    return `${start}onnxmltools.convert_lightgbm(model, initial_types=..., zipmap=False)`;
  }
  if (text.includes('xgboost')) {
    return `${start}onnxmltools.convert_xgboost(model, initial_types=...)`;
  }
  if (text.includes('catboost')) return `${start}model.save_model('${stem(name)}.cbm')`;
  if (text.includes('sklearn')) {
    return (
      `${start}skops.io.dump(joblib.load('${name}'), '${stem(name)}.skops') if Serval has its ` +
      `estimators, or skl2onnx.to_onnx(joblib.load('${name}'), X[:1]).SerializeToString(), ` +
      `written to ${onnx} (X: the training data with float32 numbers: ONNX Runtime lacks float64 kernels of ` +
      'some operators, such as Imputer)'
    );
  }
  return `${start}skl2onnx.to_onnx(model, X[:1]) for scikit-learn, torch.onnx.export for PyTorch`;
}

/** A dict of tensors (a state_dict, a checkpoint), rather than a module. */
function isWeights(pickle: Buffer): boolean {
  const text = pickle.toString('latin1', 2, 64);
  return text.startsWith('ccollections\nOrderedDict\n') || isLegacyTorch(pickle);
}

/** PyTorch before 1.6 begins with its own magic number. */
function isLegacyTorch(pickle: Buffer): boolean {
  return pickle.subarray(2, 14).equals(Buffer.from('8a0a6cfc9c46f9206aa85019', 'hex'));
}

function torchKind(name: string, weights: boolean): string {
  const onnx = `${stem(name)}.onnx`;
  if (!weights) {
    return (
      'is a pickled PyTorch model, which needs the code that made it; in Python: model = ' +
      `torch.load('${name}', weights_only=False).eval(); ` +
      `torch.onnx.export(model, (example,), '${onnx}')`
    );
  }
  return (
    "has PyTorch weights (a state_dict) without the model's code; in Python: make the model, then " +
    `model.load_state_dict(torch.load('${name}')); model.eval(); ` +
    `torch.onnx.export(model, (example,), '${onnx}')`
  );
}

function zipKind(path: string, listed: readonly string[], head: Buffer): string | undefined {
  const name = basename(path);
  const { name: first, data } = firstEntry(head);
  const names = listed.length > 0 ? listed : [first];
  if (names.includes('model.weights.h5') && names.includes('config.json')) {
    return `is a Keras file, ${kerasExport(name)}`;
  }
  const tool = toolArchive(name, names);
  if (tool !== undefined) return tool;
  if (!names.some((one) => one === 'data.pkl' || one.endsWith('/data.pkl'))) return undefined;
  const isScript = names.some((one) => /(^|\/)(constants\.pkl|code\/)/.test(one));
  if (isScript) {
    return (
      'is TorchScript, which only PyTorch runs; in Python: ' +
      `torch.onnx.export(torch.jit.load('${name}'), (example,), '${stem(name)}.onnx', ` +
      "dynamo=False, input_names=['x'], dynamic_axes={'x': {0: 'rows'}}); without dynamic_axes, " +
      'the model accepts only the number of rows of the example'
    );
  }
  const weights = first.endsWith('data.pkl') && isStateDict(data);
  return torchKind(name, weights);
}

/** An OrderedDict, or a plain dict that contains some. */
function isStateDict(pickle: Buffer): boolean {
  return isPickle(pickle) && (isWeights(pickle) || pickle[2] === 0x7d);
}

function firstEntry(head: Buffer): { name: string; data: Buffer } {
  if (head.length < 30) return { name: '', data: Buffer.alloc(0) };
  const nameEnd = 30 + head.readUInt16LE(26);
  const data = head.subarray(nameEnd + head.readUInt16LE(28));
  return { name: head.toString('latin1', 30, nameEnd), data };
}

/** The names in the archive; empty if its directory is not in the last TAIL_BYTES of the file. */
async function zipNames(file: FileHandle, size: number): Promise<readonly string[]> {
  const tailAt = Math.max(0, size - TAIL_BYTES);
  const tail = await readAt(file, tailAt, size - tailAt);
  const end = tail.lastIndexOf(ZIP_END, undefined, 'latin1');
  if (end < 0 || end + 22 > tail.length) return [];
  const length = tail.readUInt32LE(end + 12);
  const directory = await readAt(
    file,
    tail.readUInt32LE(end + 16),
    Math.min(length, DIRECTORY_BYTES_MAX),
  );
  const names: string[] = [];
  for (let at = 0; at + 46 <= directory.length; ) {
    if (directory.toString('latin1', at, at + 4) !== 'PK\u0001\u0002') break;
    const nameBytes = directory.readUInt16LE(at + 28);
    names.push(directory.toString('latin1', at + 46, at + 46 + nameBytes));
    at += 46 + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
  }
  return names;
}
