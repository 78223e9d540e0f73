// Strings of TensorFlow Lite's tensors: their number, their places, their bytes. Importer's worker
// thread; pure. Source: tensorflow/lite/string_util.h.
import { modelInvalid } from '../../../base/errors.js';

const NUMBER_BYTES = 4;

/** Errors: ModelInvalid, prefixed with `where`: another number of strings, places outside. */
export function stringsOf(bytes: Uint8Array, count: number, where: string): readonly Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const damaged = (what: string): Error => modelInvalid(`${where}: ${what}`);
  const head = NUMBER_BYTES * (count + 2);
  if (bytes.length < head) throw damaged(`expected ${count} strings, got ${bytes.length} bytes`);
  const given = view.getInt32(0, true);
  if (given !== count) throw damaged(`expected ${count} strings, got ${given}`);
  return Array.from({ length: count }, (_, i) => {
    const start = view.getInt32(NUMBER_BYTES * (i + 1), true);
    const end = view.getInt32(NUMBER_BYTES * (i + 2), true);
    if (start < head || end < start || end > bytes.length) {
      throw damaged(`string ${i}: expected its bytes before byte ${bytes.length}, got ${start}`);
    }
    return bytes.slice(start, end);
  });
}
