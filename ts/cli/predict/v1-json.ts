// V1's JSON from the client's side: parses a model's metadata, writes values as text. Control
// plane; pure. Source: docs/reference/protocols/v1-rest.md; tfserving.md 1.
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { InputInfo } from '../../library/types.js';
import { DATA_TYPES, isDtype } from '../../model/datatype.js';
import { echo } from '../../base/text.js';

interface V1Shape {
  readonly unknown_rank?: boolean;
  readonly dim?: readonly { readonly size?: string | number }[];
}
interface V1Tensor {
  readonly dtype?: string;
  readonly tensor_shape?: V1Shape;
}
type V1Tensors = Readonly<Record<string, V1Tensor>>;
interface V1Document {
  readonly model_spec?: { readonly version?: string };
  readonly metadata?: {
    readonly signature_def?: {
      readonly signature_def?: Readonly<
        Record<string, { readonly inputs?: V1Tensors; readonly outputs?: V1Tensors }>
      >;
    };
  };
}

export interface V1Metadata {
  readonly version: string;
  readonly inputs: readonly InputInfo[];
  /** undefined: unknown rank. */
  readonly outputShapes: readonly (readonly number[] | undefined)[];
}

/**
 * One signature of the .../metadata document at `where`. Errors: SignatureNotFound; Unimplemented:
 * an input whose data type cannot be sent.
 */
export function v1Metadata(document: unknown, signature: string, where: string): V1Metadata {
  const { metadata, model_spec: spec } = (document ?? {}) as V1Document;
  const defined = metadata?.signature_def?.signature_def ?? {};
  const own = Object.hasOwn(defined, signature) ? defined[signature] : undefined;
  if (own === undefined) {
    const known = Object.keys(defined).map(echo).join(', ') || 'none';
    const text = `${where}: no signature ${echo(signature)}; the model has ${known}`;
    throw new ServalError(ErrorCode.SignatureNotFound, text);
  }
  return {
    version: spec?.version ?? '',
    inputs: Object.entries(own.inputs ?? {}).map(([name, one]) => infoOf(name, one)),
    outputShapes: Object.values(own.outputs ?? {}).map(({ tensor_shape: shape }) =>
      shape?.unknown_rank === true ? undefined : dimsOf(shape),
    ),
  };
}

const dimsOf = (shape: V1Shape | undefined): readonly number[] =>
  (shape?.dim ?? []).map(({ size }) => Number(size ?? 0));

function infoOf(name: string, { dtype = '', tensor_shape: shape }: V1Tensor): InputInfo {
  const word = dtype.replace(/^DT_|_REF$/g, '').toLowerCase();
  const datatype = isDtype(word) ? DATA_TYPES[word].v2 : undefined;
  if (datatype === undefined) {
    const text = `input '${name}': data type ${echo(dtype)} cannot be sent`;
    throw new ServalError(ErrorCode.Unimplemented, text);
  }
  return { name, datatype, shape: dimsOf(shape), unknownRank: shape?.unknown_rank === true };
}

/** JSON with exact bigints, bare NaN and infinities, and bytes in V1's form. */
export function v1Text(value: unknown): string {
  if (value instanceof Uint8Array) return `{"b64":"${Buffer.from(value).toString('base64')}"}`;
  if (ArrayBuffer.isView(value)) return v1Text(Array.from(value as unknown as ArrayLike<unknown>));
  if (Array.isArray(value)) return `[${value.map(v1Text).join(',')}]`;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}:${v1Text(one)}`,
  );
  return `{${members.join(',')}}`;
}
