// The prefix of each gRPC message: a flag and its length. Pure; control plane. Source: gRPC over
// HTTP2 (PROTOCOL-HTTP2.md), Length-Prefixed-Message.

export const PREFIX_BYTES = 5;

/** An uncompressed message with its prefix. */
export function prefixed(message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(PREFIX_BYTES + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, PREFIX_BYTES);
  return bytes;
}
