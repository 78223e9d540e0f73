// The requests that a Triton configuration's model_warmup describes. Control plane. Source:
// v2-protocol.md 3; Triton's model configuration, ModelWarmup. As in Triton, a sample with
// batch_size 0 is skipped, count 0 means 1, and a data file may be longer than its tensor.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { TritonConfig } from '../config/types.js';
import { datatypeOfConfig } from '../../model/datatype.js';
import type { Datatype } from '../../model/snapshot.js';
import { encodeInferRequest } from '../../model/infer/request.js';
import { randomData, zeroData } from './synthetic-data.js';
import {
  LENGTH_BYTES,
  checkTensorBytes,
  elementBytes,
  countWithinLimit,
  repeatPattern,
} from '../../model/infer/tensor.js';
import type { Tensor } from '../../model/infer/tensor.js';
import { readWarmupDataFile } from './warmup-data-file.js';

/** One entry of model_warmup. */
export interface WarmupSample {
  readonly name: string;
  readonly batchSize: number;
  /** At least 1. */
  readonly count: number;
  readonly inputs: readonly SampleInput[];
}

interface SampleInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly dims: readonly number[];
  readonly source: 'zero' | 'random' | 'file';
  /** Only for source 'file'. */
  readonly file: string;
}

type Members = Readonly<Record<string, unknown>>;

/** Errors: InvalidArgument naming the member. */
export function warmupSamples(config: TritonConfig | undefined): readonly WarmupSample[] {
  const entries = config?.['model_warmup'];
  if (entries === undefined) return [];
  if (!Array.isArray(entries)) throw wrong('model_warmup', 'a list', entries);
  return entries.map((entry: unknown, i): WarmupSample => {
    const place = `model_warmup[${i}]`;
    const sample = members(entry, place);
    const name = sample['name'] ?? '';
    if (typeof name !== 'string') throw wrong(`${place}.name`, 'text', name);
    const inputs = members(sample['inputs'] ?? {}, `${place}.inputs`);
    return {
      name,
      batchSize: whole(sample['batch_size'] ?? 0, `${place}.batch_size`),
      count: Math.max(1, whole(sample['count'] ?? 0, `${place}.count`)),
      inputs: Object.entries(inputs).map(([input, value]) =>
        sampleInput(input, members(value, `${place}.inputs[${JSON.stringify(input)}]`), place),
      ),
    };
  });
}

function sampleInput(name: string, value: Members, place: string): SampleInput {
  const at = `${place}.inputs[${JSON.stringify(name)}]`;
  const type = value['data_type'];
  const datatype = typeof type === 'string' ? datatypeOfConfig(type) : undefined;
  if (datatype === undefined) throw wrong(`${at}.data_type`, 'a type such as TYPE_FP32', type);
  const dims = value['dims'] ?? [];
  if (!Array.isArray(dims)) throw wrong(`${at}.dims`, 'a list', dims);
  const shape = dims.map((dim: unknown, i) => whole(dim, `${at}.dims[${i}]`));
  return { name, datatype, dims: shape, ...dataSource(value, at) };
}

/** The presence of zero_data or random_data counts, not its value, as in Triton. */
function dataSource(value: Members, at: string): Pick<SampleInput, 'source' | 'file'> {
  const file = value['input_data_file'];
  const given = ['zero_data', 'random_data', 'input_data_file'].filter(
    (name) => value[name] !== undefined,
  );
  if (given.length !== 1) {
    throw wrong(at, 'one of zero_data, random_data, input_data_file', given);
  }
  if (file === undefined) return { source: given[0] === 'zero_data' ? 'zero' : 'random', file: '' };
  if (typeof file !== 'string') throw wrong(`${at}.input_data_file`, 'text', file);
  return { source: 'file', file };
}

/**
 * The request of one sample. With `batchDim`, shapes are prefixed with batch_size and every row has
 * the same data. Errors: InvalidArgument, ModelInvalid (a file), BodyTooLarge; they name the input.
 */
export async function sampleRequest(
  sample: WarmupSample,
  modelFolder: string,
  batchDim: boolean,
): Promise<Uint8Array> {
  if (!batchDim && sample.batchSize > 1) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `batch_size: expected 1 for a model without batch dimension, got ${sample.batchSize}`,
    );
  }
  const tensors: Tensor[] = [];
  for (const input of sample.inputs) {
    try {
      tensors.push(await sampleTensor(sample, input, modelFolder, batchDim));
    } catch (error) {
      if (!(error instanceof ServalError)) throw error;
      throw new ServalError(error.code, `input '${input.name}': ${error.message}`);
    }
  }
  return encodeInferRequest(tensors, []);
}

async function sampleTensor(
  sample: WarmupSample,
  input: SampleInput,
  modelFolder: string,
  batchDim: boolean,
): Promise<Tensor> {
  const { name, datatype, dims } = input;
  const shape = batchDim ? [sample.batchSize, ...dims] : dims;
  const count = countWithinLimit(datatype, dims);
  countWithinLimit(datatype, shape);
  const row = await rowData(input, count, `${sample.name}/${name}`, modelFolder);
  if (!batchDim) return { name, datatype, shape, raw: row };
  const bytes = row.length * sample.batchSize;
  checkTensorBytes(bytes, datatype, shape);
  const raw = new Uint8Array(bytes);
  raw.set(row);
  repeatPattern(raw, 0, row.length);
  return { name, datatype, shape, raw };
}

async function rowData(
  input: SampleInput,
  count: number,
  seed: string,
  modelFolder: string,
): Promise<Uint8Array> {
  const { datatype, file } = input;
  switch (input.source) {
    case 'zero':
      return zeroData(datatype, count);
    case 'random':
      return randomData(datatype, count, seed);
    case 'file': {
      if (datatype !== 'BYTES') {
        return readWarmupDataFile(modelFolder, file, count * elementBytes(datatype));
      }
      const raw = await readWarmupDataFile(modelFolder, file, undefined);
      checkStrings(raw, count, file);
      return raw;
    }
  }
}

/** Checks that `raw` is exactly `count` length-prefixed elements. */
function checkStrings(raw: Uint8Array, count: number, file: string): void {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.length);
  const fail = (what: string): never => {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `${file}: expected ${count} elements, each after a ${LENGTH_BYTES}-byte length, ${what}`,
    );
  };
  let at = 0;
  for (let i = 0; i < count; i += 1) {
    const left = raw.length - at - LENGTH_BYTES;
    if (left < 0) return fail(`got ${i} in ${raw.length} bytes`);
    const length = view.getUint32(at, true);
    if (length > left) return fail(`element ${i} has ${length} bytes, but only ${left} remain`);
    at += LENGTH_BYTES + length;
  }
  if (at < raw.length) fail(`${raw.length - at} bytes remain`);
}

function members(value: unknown, place: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw wrong(place, 'an object', value);
}

function whole(value: unknown, place: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw wrong(place, 'a whole number from 0', value);
}

function wrong(place: string, expected: string, got: unknown): ServalError {
  const shown = JSON.stringify(got) ?? 'nothing';
  return new ServalError(ErrorCode.InvalidArgument, `${place}: expected ${expected}, got ${shown}`);
}
