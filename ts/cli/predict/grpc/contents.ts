// Converts typed values of protobuf messages to a tensor's raw bytes. Control plane; pure. Source:
// proto/wire/inference.proto, InferTensorContents.
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { dataTypeOf, type DataType } from '../../../model/datatype.js';
import type { Datatype } from '../../../model/snapshot.js';
import type { WireReader } from '../../../protobuf/reader.js';

/**
 * The elements of InferTensorContents, of whose lists only the datatype's is set; BYTES are
 * length-prefixed. Errors: Internal: there is no such datatype.
 */
export function typedBytes(reader: WireReader, datatype: Datatype): Uint8Array {
  const type: DataType | undefined = dataTypeOf(datatype);
  if (type === undefined) {
    throw new ServalError(ErrorCode.Internal, `unknown datatype ${String(datatype)}`);
  }
  const pieces: Uint8Array[] = [];
  while (reader.next()) {
    if (type.kind === 'text') pieces.push(...behindLength(reader.view()));
    else if (type.kind === 'float') pieces.push(reader.fixed(type.bytes === 8 ? 8 : 4));
    else reader.varints((one) => pieces.push(integerBytes(one, type.bytes)));
  }
  return Buffer.concat(pieces);
}

/** Texts in the form of raw contents. */
export const textsBytes = (texts: readonly Uint8Array[]): Uint8Array =>
  Buffer.concat(texts.flatMap(behindLength));

function behindLength(text: Uint8Array): readonly Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return [length, text];
}

/** The inverse. `bytes` are those of an encoded tensor: complete. */
export function textsOf(bytes: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + view.getUint32(at, true);
    texts.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return texts;
}

/** The lowest bytes of a varint. */
function integerBytes({ low, high }: WireReader, bytes: number): Uint8Array {
  const element = Buffer.alloc(8);
  element.writeUInt32LE(low);
  element.writeUInt32LE(high, 4);
  return element.subarray(0, bytes);
}
