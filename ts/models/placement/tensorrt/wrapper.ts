// Wraps a TensorRT engine in an ONNX model: one EPContext node that names the engine's file,
// between the inputs and outputs from the configuration. Control plane; pure. Source: ONNX
// Runtime's EPContext operator (com.microsoft) and its TensorRT provider, which reads embed_mode
// and ep_cache_context; file names are relative to the model's folder.
import { CONTRIB_DOMAIN, TENSORRT_PROVIDER } from '../../../model/onnx-names.js';
import { modelInvalid } from '../../../base/errors.js';
import { dataTypeOf, datatypeOfConfig, type ElementType } from '../../../model/datatype.js';
import type { TensorRtSpec, TensorRtTensor } from '../../../model/engine-api.js';
import { encodeModel, type OnnxValue } from '../../../importers/onnx/builder.js';

/**
 * The node holds the engine's path instead of its bytes, because a model file is limited to 2 GiB.
 */
const BY_PATH = 0;
/** TensorRT tensor types that ONNX Runtime's provider supports. */
const TYPES: ReadonlySet<ElementType> = new Set([
  'float',
  'float16',
  'bfloat16',
  'int8',
  'uint8',
  'int32',
  'int64',
  'bool',
]);

/** First bytes of an engine. Source: Netron's reader. */
const MAGIC: readonly string[] = ['ftrt', 'ptrt'];
/** Number of bytes to read from the file for tensorRtProblem(). */
export const TENSORRT_HEAD_BYTES = 512;

/**
 * Returns the bytes of the .onnx file for the engine in `file`, which is in the same folder.
 * Errors: ModelInvalid: no tensors, or a type that TensorRT does not have.
 */
export function tensorRtModel(spec: TensorRtSpec, file: string): Uint8Array {
  const { inputs, outputs } = spec;
  if (inputs.length === 0 || outputs.length === 0) {
    throw modelInvalid(
      'a TensorRT engine is described by its config.pbtxt: expected input and ' +
        `output there, got ${inputs.length} and ${outputs.length}`,
    );
  }
  const attributes = {
    main_context: { int: 1 },
    embed_mode: { int: BY_PATH },
    ep_cache_context: { string: file },
    source: { string: TENSORRT_PROVIDER },
  };
  return encodeModel({
    opsets: { '': 17, [CONTRIB_DOMAIN]: 1 },
    graph: {
      name: 'tensorrt_plan',
      inputs: inputs.map((one) => valueOf('input', one)),
      outputs: outputs.map((one) => valueOf('output', one)),
      nodes: [
        {
          op: 'EPContext',
          name: 'EPContext',
          domain: CONTRIB_DOMAIN,
          inputs: inputs.map(({ name }) => name),
          outputs: outputs.map(({ name }) => name),
          attributes,
        },
      ],
    },
  });
}

function valueOf(list: string, { name, type, dims }: TensorRtTensor): OnnxValue {
  const datatype = datatypeOfConfig(type);
  const onnx = datatype === undefined ? undefined : dataTypeOf(datatype).onnx;
  if (onnx === undefined || !TYPES.has(onnx)) {
    const known = 'FP32, FP16, BF16, INT8, UINT8, INT32, INT64 or BOOL';
    throw modelInvalid(`${list} "${name}": TensorRT's tensors are ${known}, got ${type}`);
  }
  // Each dynamic dim gets a unique name: equal names would mean equal sizes.
  const shape = dims.map((dim, i) => (dim >= 0 ? dim : `${name}_${i}`));
  return { name, type: onnx, shape };
}

/**
 * Why a file is not an engine, judged by its first bytes; the text continues a sentence after the
 * file's path. undefined if it seems to be one.
 */
export function tensorRtProblem(head: Uint8Array, bytes: number): string | undefined {
  if (bytes === 0) return 'is empty';
  if (MAGIC.includes(textAt(head, 0))) return undefined;
  const at = behindWords(head);
  const isFurther = at !== undefined && at + 4 > head.length && at + 4 <= bytes;
  if (isFurther || (at !== undefined && MAGIC.includes(textAt(head, at)))) return undefined;
  const got = Buffer.from(head.subarray(0, 4)).toString('hex');
  return `is not a TensorRT engine: expected it to begin with "ftrt" or "ptrt", got bytes ${got}`;
}

/**
 * Engines of Torch-TensorRT and others may start with a length and JSON before the engine itself.
 */
function behindWords(head: Uint8Array): number | undefined {
  const BRACE = 0x7b;
  if (head.length < 8 || head[4] !== BRACE) return undefined;
  return new DataView(head.buffer, head.byteOffset).getUint32(0, true) + 4;
}

const textAt = (bytes: Uint8Array, at: number): string =>
  Buffer.from(bytes.subarray(at, at + 4)).toString('latin1');
