// Writes a small TensorFlow Lite file: y = x * [0.5, 2] + 3, with the constants inside or after
// the tables. Test time only.
import { Builder } from 'flatbuffers';

const FLOAT32 = 0;
const ADD = 0;
const MUL = 18;
const CUSTOM = 32;

export interface LiteParts {
  /** Whether the constants follow the tables. */
  readonly isAfter?: boolean;
  /** Names in a signature; otherwise there is none. */
  readonly signature?: { readonly key: string; readonly input: string; readonly output: string };
  /** A custom operator in place of the addition. */
  readonly custom?: string;
}

function offsets(builder: Builder, values: readonly number[]): number {
  builder.startVector(4, values.length, 4);
  for (const value of [...values].reverse()) builder.addOffset(value);
  return builder.endVector();
}

function ints(builder: Builder, values: readonly number[]): number {
  builder.startVector(4, values.length, 4);
  for (const value of [...values].reverse()) builder.addInt32(value);
  return builder.endVector();
}

/** Members by number: offsets, or 32-bit numbers. */
function table(
  builder: Builder,
  parts: Readonly<Record<number, number>>,
  numbers: Readonly<Record<number, number>> = {},
): number {
  builder.startObject(10);
  for (const [slot, value] of Object.entries(parts)) builder.addFieldOffset(Number(slot), value, 0);
  for (const [slot, value] of Object.entries(numbers))
    builder.addFieldInt32(Number(slot), value, 0);
  return builder.endObject();
}

function bytesOf(values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

function tensor(builder: Builder, name: string, shape: readonly number[], buffer: number): number {
  const text = builder.createString(name);
  const fixed = ints(
    builder,
    shape.map((dim) => Math.abs(dim)),
  );
  const signature = ints(builder, shape);
  return table(builder, { 0: fixed, 3: text, 7: signature }, { 1: FLOAT32, 2: buffer });
}

const operator = (builder: Builder, code: number, inputs: readonly number[], output: number) => {
  const [from, to] = [ints(builder, inputs), ints(builder, [output])];
  return table(builder, { 1: from, 2: to }, { 0: code });
};

function signatureOf(
  builder: Builder,
  { key, input, output }: NonNullable<LiteParts['signature']>,
) {
  const map = (name: string, index: number): number => {
    const text = builder.createString(name);
    return offsets(builder, [table(builder, { 0: text }, { 1: index })]);
  };
  const [inputs, outputs] = [map(input, 0), map(output, 4)];
  const text = builder.createString(key);
  return offsets(builder, [table(builder, { 0: inputs, 1: outputs, 2: text })]);
}

/** `tail`: the byte at which constants after the tables begin. */
function written(parts: LiteParts, tail: number): Uint8Array {
  const builder = new Builder(1024);
  const constants = [bytesOf([0.5, 2]), bytesOf([3])];
  let at = tail;
  const buffers = constants.map((bytes) => {
    const data = parts.isAfter ? 0 : builder.createByteVector(bytes);
    builder.startObject(3);
    if (data !== 0) builder.addFieldOffset(0, data, 0);
    else {
      builder.addFieldInt64(1, BigInt(at), 0n);
      builder.addFieldInt64(2, BigInt(bytes.length), 0n);
    }
    at += bytes.length;
    return builder.endObject();
  });
  const none = table(builder, {});
  const all = offsets(builder, [none, ...buffers]);
  const tensors = offsets(builder, [
    tensor(builder, 'x:0', [-1, 2], 0),
    tensor(builder, 'scale', [2], 1),
    tensor(builder, 'shift', [1], 2),
    tensor(builder, 'scaled', [-1, 2], 0),
    tensor(builder, 'y', [-1, 2], 0),
  ]);
  const operators = offsets(builder, [
    operator(builder, 0, [0, 1], 3),
    operator(builder, 1, [3, 2], 4),
  ]);
  const [inputs, outputs] = [ints(builder, [0]), ints(builder, [4])];
  const graph = table(builder, { 0: tensors, 1: inputs, 2: outputs, 3: operators });
  const graphs = offsets(builder, [graph]);
  const custom = parts.custom === undefined ? 0 : builder.createString(parts.custom);
  const last =
    custom === 0 ? table(builder, {}, { 3: ADD }) : table(builder, { 1: custom }, { 3: CUSTOM });
  const codes = offsets(builder, [table(builder, {}, { 3: MUL }), last]);
  const signatures =
    parts.signature === undefined ? {} : { 7: signatureOf(builder, parts.signature) };
  builder.finish(table(builder, { 1: codes, 2: graphs, 4: all, ...signatures }, { 0: 3 }), 'TFL3');
  const head = builder.asUint8Array();
  return parts.isAfter ? Buffer.concat([head, ...constants]) : Buffer.from(head);
}

export function liteFile(parts: LiteParts = {}): Uint8Array {
  const length = written(parts, 0xffff).length - (parts.isAfter === true ? 12 : 0);
  return written(parts, length);
}
