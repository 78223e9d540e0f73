// Builds a request's inputs from --input and --random. Control plane; reads files.
import { readFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { elementCount } from '../../model/shape.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { configError } from '../../config/values/values.js';
import type { InputInfo, Inputs, InputValue, Scalar, Values } from '../../library/types.js';
import { dataTypeOf } from '../../model/datatype.js';
import { ExactNumber, parseExact, type ExactValue } from '../../protocols/frames/exact-json.js';
import { memberOf } from '../../protocols/frames/tensors.js';
import { echo } from '../../base/text.js';
import { readNpy } from './npy.js';
import { pictureFile } from './images/options.js';
import { readPicture } from './images/read.js';

export type Row = Readonly<Record<string, unknown>>;

const WHERE = '--input';
const OTHER_PICTURES: ReadonlySet<string> = new Set(['.gif', '.bmp', '.webp', '.tif', '.tiff']);
const RANDOM_ELEMENTS_MAX = 268_435_456;

/**
 * All of --input together. NAME=VALUE, NAME=@FILE, or @FILE with a JSON object by name, a V2
 * request, or rows of a tabular model; "-" is standard input. Errors: InvalidArgument naming the
 * text or the file.
 */
export function readInputs(
  texts: readonly string[],
  infos: readonly InputInfo[],
  folder: string,
): Inputs | readonly Row[] {
  const given = new Map<string, InputValue>();
  for (const text of texts) {
    if (text.startsWith('@')) {
      const whole = wholeRequest(jsonOf(text.slice(1), fileBytes(text.slice(1), folder)));
      if (Array.isArray(whole)) {
        if (texts.length > 1)
          throw configError(WHERE, `${echo(text)} has rows: expected no other --input`);
        return whole as readonly Row[];
      }
      for (const [name, value] of Object.entries(whole)) given.set(name, value as InputValue);
      continue;
    }
    const equals = text.indexOf('=');
    if (equals <= 0) throw configError(WHERE, `expected NAME=VALUE or @FILE, got ${echo(text)}`);
    const name = text.slice(0, equals);
    const info = infos.find((one) => one.name === name);
    given.set(name, oneValue(text.slice(equals + 1), info, folder));
  }
  return Object.fromEntries(given);
}

function oneValue(text: string, info: InputInfo | undefined, folder: string): InputValue {
  const isText = info !== undefined && dataTypeOf(info.datatype).kind === 'text';
  if (text.startsWith('@')) return fileValue(text.slice(1), info, folder);
  try {
    return plain(parseExact(text)) as InputValue;
  } catch (error) {
    if (isText) return text;
    const what = `expected JSON (or @FILE) for ${echo(text)}`;
    throw configError(`${WHERE} ${info?.name ?? ''}`.trim(), `${what}: ${reasonOf(error)}`);
  }
}

function fileValue(path: string, info: InputInfo | undefined, folder: string): InputValue {
  const isText = info !== undefined && dataTypeOf(info.datatype).kind === 'text';
  const picture = isText || info === undefined ? undefined : pictureFile(path);
  if (picture !== undefined && info !== undefined) {
    return readPicture(picture.path, fileBytes(picture.path, folder), info, picture.options);
  }
  const bytes = fileBytes(path, folder);
  switch (extname(path).toLowerCase()) {
    case '.json':
      return plain(jsonOf(path, bytes)) as InputValue;
    case '.npy': {
      const { shape, data } = readNpy(path, bytes);
      return { data, shape };
    }
  }
  if (isText) return new Uint8Array(bytes);
  if (path === '-') return plain(jsonOf(path, bytes)) as InputValue;
  const why = OTHER_PICTURES.has(extname(path).toLowerCase())
    ? 'image options need a .png or .jpg file; other files can only be given to BYTES inputs'
    : 'expected .json, .npy, .png or .jpg (any file for an input of BYTES)';
  throw configError(WHERE, `${echo(path)}: ${why}`);
}

function fileBytes(path: string, folder: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : resolve(folder, path));
  } catch (error) {
    throw new ServalError(ErrorCode.InvalidArgument, `${WHERE}: ${reasonOf(error)}`);
  }
}

function jsonOf(path: string, bytes: Buffer): ExactValue {
  try {
    return parseExact(bytes.toString('utf8'));
  } catch (error) {
    throw configError(WHERE, `${path}: ${reasonOf(error)}`);
  }
}

/** Inputs by name; a V2 request's as tensors; V1's `inputs` and `instances` by their meaning. */
function wholeRequest(json: ExactValue): Inputs | readonly Row[] {
  const inputs = memberOf(json, 'inputs');
  if (Array.isArray(inputs)) {
    const tensors = inputs.map((one: ExactValue) => plain(one) as { readonly name?: string });
    return Object.fromEntries(tensors.map((one) => [String(one.name ?? ''), one])) as Inputs;
  }
  const value = plain(inputs ?? memberOf(json, 'instances') ?? json);
  const isObject = typeof value === 'object' && value !== null;
  if (!isObject) throw configError(WHERE, 'expected a file with an object by input name, or rows');
  return value as Inputs | readonly Row[];
}

/** Converts to JavaScript numbers; integers outside their range become bigint. */
export function plain(value: ExactValue): unknown {
  if (value instanceof ExactNumber) {
    const number = Number(value.text);
    const isWhole = /^-?\d+$/.test(value.text);
    return isWhole && !Number.isSafeInteger(number) ? BigInt(value.text) : number;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) {
    return Object.fromEntries(
      [...(value as ReadonlyMap<string, ExactValue>)].map(([name, one]) => [name, plain(one)]),
    );
  }
  return value;
}

/** Numbers in [0, 1), always the same for a seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Values for each input: floats from 0 to 1, integers from 0 to 9 (UINT8: to 255), words. A dynamic
 * first dimension is `rows`, other dynamic ones 1. Errors: InvalidArgument: too many.
 */
export function randomInputs(
  infos: readonly InputInfo[],
  { rows, next, isTable }: { rows: number; next: () => number; isTable: boolean },
): Record<string, InputValue> {
  return Object.fromEntries(
    infos.map((info): [string, InputValue] => {
      const own = info.unknownRank ? [rows] : info.shape;
      const shape = own.map((dim, i) => (dim >= 0 ? dim : i === 0 ? rows : 1));
      const count = elementCount(shape);
      if (count > RANDOM_ELEMENTS_MAX) {
        throw configError('--random', `input '${info.name}' has ${count} elements`);
      }
      const draw = drawer(info, next);
      const data = Array.from({ length: count }, draw);
      return [info.name, isTable ? cellsOf(data, shape) : { data: data as Values, shape }];
    }),
  );
}

function cellsOf(data: readonly Scalar[], [rows = 1, ...rest]: readonly number[]): Values {
  if (rest.length === 0) return data as Values;
  const length = elementCount(rest);
  return Array.from({ length: rows }, (_, i) => data.slice(i * length, (i + 1) * length)) as Values;
}

function drawer({ datatype }: InputInfo, next: () => number): () => Scalar {
  const below = (max: number): number => Math.floor(next() * max);
  if (datatype === 'DATE') return () => `20${10 + below(15)}-0${1 + below(9)}-1${below(10)}`;
  if (datatype === 'TIMESTAMP')
    return () => `1${below(10)}/0${1 + below(9)}/2024 1${below(10)}:00:00`;
  switch (dataTypeOf(datatype).kind) {
    case 'bool':
      return () => next() < 0.5;
    case 'text':
      return () => `word${below(10)}`;
    case 'float':
      return next;
    default:
      return () => below(datatype === 'UINT8' ? 256 : 10);
  }
}
