// Wire types of protobuf, and the size of its longest number. Any plane, any thread; data only.

export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
/** A length and that number of bytes: texts, bytes, messages, packed lists. */
export const WIRE_LENGTH = 2;
export const WIRE_GROUP_START = 3;
export const WIRE_GROUP_END = 4;
export const WIRE_FIXED32 = 5;

export const VARINT_BYTES_MAX = 10;
