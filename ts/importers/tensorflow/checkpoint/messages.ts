// The protobuf messages inside checkpoint tables. Control plane; pure.
// Source: tensorflow/core/protobuf/tensor_bundle.proto, core/util/saved_tensor_slice.proto,
// core/framework/{tensor_shape,tensor_slice,versions}.proto.
import { VERSION_DEF as VERSION } from '../../../protobuf/generated/tensorflow-graph-fields.js';
import {
  TENSOR_SHAPE_PROTO,
  TENSOR_SHAPE_PROTO_DIM as DIM,
} from '../../../protobuf/generated/tensorflow-fields.js';
import {
  BUNDLE_HEADER_PROTO,
  BUNDLE_ENTRY_PROTO,
  SAVED_TENSOR_SLICES,
  SAVED_TENSOR_SLICE_META,
  SAVED_SLICE,
  SAVED_SLICE_META,
  TENSOR_SLICE_PROTO,
  TENSOR_SLICE_PROTO_EXTENT,
} from '../../../protobuf/generated/checkpoint-fields.js';
import { modelInvalid, unimplemented } from '../../../base/errors.js';
import { CHECKPOINT_SLICES_MAX, TENSORFLOW_RANK_MAX } from '../../../base/limits.js';
import { WireReader } from '../../../protobuf/reader.js';
import type { Extent } from './ordered-code.js';

/** Supported version of both formats. */
const CONSUMER = 1;
const UINT32_RANGE = 4_294_967_296;

export interface BundleHeader {
  readonly shards: number;
  readonly bigEndian: boolean;
}

/** BundleEntryProto. */
export interface BundleEntry {
  readonly dtypeCode: number;
  readonly shape: readonly number[];
  readonly shard: number;
  readonly offset: number;
  readonly bytes: number;
  readonly maskedCrc32c: number;
  readonly slices: readonly (readonly Extent[])[];
}

/** SavedSliceMeta. */
export interface TensorMeta {
  readonly name: string;
  readonly dtypeCode: number;
  readonly shape: readonly number[];
  readonly slices: readonly (readonly Extent[])[];
}

/** SavedSlice; several data parts form one message. */
export interface SavedSlice {
  readonly name: string;
  readonly extents: readonly Extent[];
  readonly data: readonly Uint8Array[];
}

/** Errors: ModelInvalid; Unimplemented for a format that is newer than this reader. */
export function readBundleHeader(bytes: Uint8Array, where: string): BundleHeader {
  const reader = new WireReader(bytes, `${where}: BundleHeaderProto`);
  const version = new VersionDef();
  let shards = 0;
  let endianness = 0;
  while (reader.next()) {
    switch (reader.field) {
      case BUNDLE_HEADER_PROTO.numShards:
        shards = int32(reader);
        break;
      case BUNDLE_HEADER_PROTO.endianness:
        endianness = int32(reader);
        break;
      case BUNDLE_HEADER_PROTO.version:
        version.read(reader.nested(`${where}: VersionDef`));
        break;
      default:
        reader.skip();
    }
  }
  version.check(where);
  return { shards, bigEndian: endianness !== 0 };
}

export function readBundleEntry(bytes: Uint8Array, where: string): BundleEntry {
  const reader = new WireReader(bytes, `${where}: BundleEntryProto`);
  const shape: number[] = [];
  const slices: Extent[][] = [];
  let [dtypeCode, shard, offset, size, maskedCrc32c] = [0, 0, 0, 0, 0];
  while (reader.next()) {
    switch (reader.field) {
      case BUNDLE_ENTRY_PROTO.dtype:
        dtypeCode = int32(reader);
        break;
      case BUNDLE_ENTRY_PROTO.shape:
        readShape(reader.nested(`${where}: shape`), shape, where);
        break;
      case BUNDLE_ENTRY_PROTO.shardId:
        shard = int32(reader);
        break;
      case BUNDLE_ENTRY_PROTO.offset:
        offset = length(reader, `${where}: offset`);
        break;
      case BUNDLE_ENTRY_PROTO.size:
        size = length(reader, `${where}: size`);
        break;
      case BUNDLE_ENTRY_PROTO.crc32c:
        maskedCrc32c = fixed32(reader);
        break;
      case BUNDLE_ENTRY_PROTO.slices:
        addSlice(slices, reader, where);
        break;
      default:
        reader.skip();
    }
  }
  return { dtypeCode, shape, shard, offset, bytes: size, maskedCrc32c, slices };
}

/** The tensors listed in a version 1 file: SavedTensorSlices.meta. */
export function readTensorMetas(
  bytes: Uint8Array,
  where: string,
  each: (meta: TensorMeta) => void,
): void {
  const version = new VersionDef();
  for (const { field, reader } of submessages(bytes, `${where}: SavedTensorSlices`, [
    SAVED_TENSOR_SLICES.meta,
  ])) {
    if (field !== SAVED_TENSOR_SLICES.meta) continue;
    while (reader.next()) {
      switch (reader.field) {
        case SAVED_TENSOR_SLICE_META.tensor:
          each(readTensorMeta(reader.nested(`${where}: SavedSliceMeta`), where));
          break;
        case SAVED_TENSOR_SLICE_META.versions:
          version.read(reader.nested(`${where}: VersionDef`));
          break;
        default:
          reader.skip();
      }
    }
  }
  version.check(where);
}

/** SavedTensorSlices.data; undefined if there is none. */
export function readSavedSlice(bytes: Uint8Array, where: string): SavedSlice | undefined {
  const data: Uint8Array[] = [];
  const extents: Extent[] = [];
  let name = '';
  let found = false;
  for (const { reader } of submessages(bytes, `${where}: SavedTensorSlices`, [
    SAVED_TENSOR_SLICES.data,
  ])) {
    found = true;
    while (reader.next()) {
      switch (reader.field) {
        case SAVED_SLICE.name:
          name = reader.string();
          break;
        case SAVED_SLICE.slice:
          readExtents(reader.nested(`${where}: slice`), extents, where);
          break;
        case SAVED_SLICE.data:
          data.push(reader.view());
          break;
        default:
          reader.skip();
      }
    }
  }
  return found ? { name, extents, data } : undefined;
}

function* submessages(
  bytes: Uint8Array,
  message: string,
  fields: readonly number[],
): Generator<{ readonly field: number; readonly reader: WireReader }> {
  const outer = new WireReader(bytes, message);
  while (outer.next()) {
    if (fields.includes(outer.field)) {
      yield { field: outer.field, reader: outer.nested(message) };
    } else {
      outer.skip();
    }
  }
}

function readTensorMeta(reader: WireReader, where: string): TensorMeta {
  const shape: number[] = [];
  const slices: Extent[][] = [];
  let name = '';
  let dtypeCode = 0;
  while (reader.next()) {
    switch (reader.field) {
      case SAVED_SLICE_META.name:
        name = reader.string();
        break;
      case SAVED_SLICE_META.shape:
        readShape(reader.nested(`${where}: shape`), shape, where);
        break;
      case SAVED_SLICE_META.type:
        dtypeCode = int32(reader);
        break;
      case SAVED_SLICE_META.slice:
        addSlice(slices, reader, where);
        break;
      default:
        reader.skip();
    }
  }
  return { name, dtypeCode, shape, slices };
}

function addSlice(slices: Extent[][], reader: WireReader, where: string): void {
  if (slices.length >= CHECKPOINT_SLICES_MAX) {
    throw modelInvalid(
      where,
      `expected at most ${CHECKPOINT_SLICES_MAX} slices of a tensor, got more`,
    );
  }
  const extents: Extent[] = [];
  readExtents(reader.nested(`${where}: slice`), extents, where);
  slices.push(extents);
}

/** Appends, since repeated occurrences are merged. */
function readShape(reader: WireReader, shape: number[], where: string): void {
  while (reader.next()) {
    if (reader.field === TENSOR_SHAPE_PROTO.unknownRank) {
      reader.varint();
      if (reader.low !== 0)
        throw modelInvalid(where, 'a stored tensor has a shape of unknown rank');
    } else if (reader.field === TENSOR_SHAPE_PROTO.dim) {
      checkRank(shape.length, where);
      const dim = reader.nested(`${where}: dim`);
      let size = 0;
      while (dim.next()) {
        if (dim.field === DIM.size) size = length(dim, `${where}: dim ${shape.length}`);
        else dim.skip();
      }
      shape.push(size);
    } else {
      reader.skip();
    }
  }
}

function readExtents(reader: WireReader, extents: Extent[], where: string): void {
  while (reader.next()) {
    if (reader.field !== TENSOR_SLICE_PROTO.extent) {
      reader.skip();
      continue;
    }
    checkRank(extents.length, where);
    const extent = reader.nested(`${where}: extent`);
    let start = 0;
    let size: number | undefined;
    while (extent.next()) {
      const place = `${where}: extent ${extents.length}`;
      if (extent.field === TENSOR_SLICE_PROTO_EXTENT.start) start = length(extent, place);
      else if (extent.field === TENSOR_SLICE_PROTO_EXTENT.length) size = length(extent, place);
      else extent.skip();
    }
    extents.push({ start, length: size });
  }
}

function checkRank(rank: number, where: string): void {
  if (rank < TENSORFLOW_RANK_MAX) return;
  throw modelInvalid(where, `expected a rank of at most ${TENSORFLOW_RANK_MAX}, got more`);
}

/** VersionDef, possibly in several occurrences. */
class VersionDef {
  #producer = 0;
  #minConsumer = 0;
  #isBad = false;

  read(reader: WireReader): void {
    while (reader.next()) {
      switch (reader.field) {
        case VERSION.producer:
          this.#producer = int32(reader);
          break;
        case VERSION.minConsumer:
          this.#minConsumer = int32(reader);
          break;
        case VERSION.badConsumers:
          reader.varints(({ low }) => {
            if (low === CONSUMER) this.#isBad = true;
          });
          break;
        default:
          reader.skip();
      }
    }
  }

  check(where: string): void {
    if (this.#minConsumer <= CONSUMER && !this.#isBad) return;
    const wants = this.#isBad ? `excludes version ${CONSUMER}` : `needs ${this.#minConsumer}`;
    throw unimplemented(
      where,
      `the checkpoint's format (producer ${this.#producer}) ${wants}; ` +
        `this reader is version ${CONSUMER}`,
    );
  }
}

function int32(reader: WireReader): number {
  reader.varint();
  return reader.low | 0;
}

/** An int64 that is neither negative nor above 2^53. */
function length(reader: WireReader, what: string): number {
  reader.varint();
  const value = reader.high * UINT32_RANGE + reader.low;
  if (value <= Number.MAX_SAFE_INTEGER) return value;
  const signed = BigInt.asIntN(64, (BigInt(reader.high) << 32n) | BigInt(reader.low));
  throw modelInvalid(what, `expected a number from 0 to 2^53 - 1, got ${signed}`);
}

function fixed32(reader: WireReader): number {
  const bytes = reader.fixed(4);
  if (bytes.length < 4) return 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return view.getUint32(bytes.length - 4, true);
}
