// TensorFlow's messages, written by hand for tests of its readers: only the field numbers of the
// .proto files are shared with the readers.
import assert from 'node:assert/strict';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { ReadContext } from '../../../../ts/importers/tensorflow/proto/read-context.js';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import { WireReader } from '../../../../ts/protobuf/reader.js';

export type Fill = (writer: ProtobufWriter) => void;

export function message(fill: Fill): Uint8Array {
  const writer = new ProtobufWriter();
  fill(writer);
  return writer.concat();
}

export function readerOf(bytes: Uint8Array, name = 'Message'): WireReader {
  return new WireReader(bytes, name);
}

/** The result of `read` on the message. */
export function readOf<T>(
  read: (reader: WireReader, context: ReadContext) => T,
  fill: Fill | Uint8Array,
): T {
  const bytes = fill instanceof Uint8Array ? fill : message(fill);
  return read(readerOf(bytes), new ReadContext());
}

/** The message of the ModelInvalid error that `run` must throw. */
export function invalid(run: () => unknown): string {
  return errorText(run, ErrorCode.ModelInvalid);
}

export function errorText(run: () => unknown, code: ErrorCode): string {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ServalError, `expected a ServalError, got ${String(error)}`);
    assert.equal(error.code, code, error.message);
    return error.message;
  }
  return assert.fail('expected an error');
}

export const utf8 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export function shape(dims: readonly number[]): Fill {
  return (writer) => {
    for (const dim of dims) writer.message(2, (inner) => inner.varint(1, dim));
  };
}

/** A map's entry: key 1, value 2. */
export function entry(key: string, value: Fill): Fill {
  return (writer) => writer.string(1, key).message(2, value);
}

export interface NodeText {
  readonly name: string;
  readonly op: string;
  readonly inputs?: readonly string[];
  /** AttrValues. */
  readonly attributes?: Readonly<Record<string, Fill>>;
}

export const attr = {
  type:
    (code: number): Fill =>
    (writer) =>
      writer.varint(6, code),
  int:
    (value: number | bigint): Fill =>
    (writer) =>
      writer.varint(3, value),
  bytes:
    (value: string): Fill =>
    (writer) =>
      writer.string(2, value),
  shape:
    (dims: readonly number[]): Fill =>
    (writer) =>
      writer.message(7, shape(dims)),
  list:
    (fill: Fill): Fill =>
    (writer) =>
      writer.message(1, fill),
  tensor:
    (fill: Fill): Fill =>
    (writer) =>
      writer.message(8, fill),
};

/** A NodeDef. */
export function node({ name, op, inputs = [], attributes = {} }: NodeText): Fill {
  return (writer) => {
    writer.string(1, name).string(2, op);
    for (const input of inputs) writer.string(3, input);
    for (const [key, value] of Object.entries(attributes)) writer.message(5, entry(key, value));
  };
}

/** A GraphDef. */
export function graph(nodes: readonly NodeText[], producer = 100): Fill {
  return (writer) => {
    for (const each of nodes) writer.message(1, node(each));
    writer.message(4, (versions) => versions.varint(1, producer));
  };
}

/** google.protobuf.Any. */
export function any(typeName: string, fill: Fill): Fill {
  return (writer) => writer.string(1, `type.googleapis.com/${typeName}`).bytes(2, message(fill));
}

/** A CollectionDef of messages. */
export function anyList(values: readonly Fill[]): Fill {
  return (writer) =>
    writer.message(5, (list) => {
      for (const value of values) list.message(1, value);
    });
}

/** A CollectionDef of names. */
export function nodeList(names: readonly string[]): Fill {
  return (writer) =>
    writer.message(1, (list) => {
      for (const name of names) list.string(1, name);
    });
}

/** A TensorInfo by name. */
export function info(name: string, dtypeCode: number, dims?: readonly number[]): Fill {
  return (writer) => {
    writer.string(1, name).varint(2, dtypeCode);
    if (dims !== undefined) writer.message(3, shape(dims));
  };
}

export interface MetaGraphText {
  readonly tags?: readonly string[];
  readonly graph?: Fill;
  readonly saver?: { readonly filename: string; readonly restore: string };
  readonly collections?: Readonly<Record<string, Fill>>;
  /** SignatureDefs. */
  readonly signatures?: Readonly<Record<string, Fill>>;
  /** AssetFileDefs: tensor and file. */
  readonly assets?: readonly (readonly [tensor: string, file: string])[];
  /** Other fields of the MetaInfoDef. */
  readonly info?: Fill;
}

export function metaGraph(text: MetaGraphText): Fill {
  return (writer) => {
    writer.message(1, (inner) => {
      for (const tag of text.tags ?? []) inner.string(4, tag);
      inner.string(5, '2.0.0');
      text.info?.(inner);
    });
    writer.message(2, text.graph ?? graph([]));
    const { saver } = text;
    if (saver !== undefined) {
      writer.message(3, (inner) => inner.string(1, saver.filename).string(3, saver.restore));
    }
    for (const [key, value] of Object.entries(text.collections ?? {})) {
      writer.message(4, entry(key, value));
    }
    for (const [key, value] of Object.entries(text.signatures ?? {})) {
      writer.message(5, entry(key, value));
    }
    for (const [tensor, file] of text.assets ?? []) {
      writer.message(6, (inner) => inner.message(1, info(tensor, 7)).string(2, file));
    }
  };
}

export function savedModel(metaGraphs: readonly MetaGraphText[]): Uint8Array {
  return message((writer) => {
    writer.varint(1, 1);
    for (const each of metaGraphs) writer.message(2, metaGraph(each));
  });
}
