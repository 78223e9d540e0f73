// Opens a .skops file: a zip with schema.json, a tree of what the objects are, and NumPy's files.
// Nothing is executed, and no object is made: importers ask for the values that they know.
// Importer's worker thread. Source: skops' io/_persist.py, io/_utils.py.
import { SKOPS_SCHEMA } from '../../../base/file-names.js';
import { SKLEARN_BYTES_MAX, SKLEARN_SCHEMA_BYTES_MAX } from '../../../base/limits.js';
import type { ModelFiles } from '../../plan/archive/index.js';
import { Item } from './item.js';
import { type NumpyArray, readNpy } from './npy.js';

const PROTOCOL_MAX = 2;

export interface Opened {
  readonly root: Item;
  /** The version of skops; "" = not stated. */
  readonly version: string;
}

/** Errors: RangeError: no such file, too large, a protocol that is not known. */
export async function openSkops(files: ModelFiles): Promise<Opened> {
  const total = files.names.reduce((sum, name) => sum + files.size(name), 0);
  if (total > SKLEARN_BYTES_MAX) {
    throw new RangeError(`expected at most ${SKLEARN_BYTES_MAX} bytes, got ${total}`);
  }
  if (!files.names.includes(SKOPS_SCHEMA)) throw new RangeError(`${SKOPS_SCHEMA} not found`);
  const size = files.size(SKOPS_SCHEMA);
  if (size > SKLEARN_SCHEMA_BYTES_MAX) {
    throw new RangeError(
      `${SKOPS_SCHEMA}: expected at most ${SKLEARN_SCHEMA_BYTES_MAX} bytes, got ${size}`,
    );
  }
  const parts = new Map<string, Uint8Array>();
  for (const name of files.names) {
    if (name === SKOPS_SCHEMA || name.endsWith('.npy')) parts.set(name, await files.read(name));
  }
  return openParts(parts);
}

/** Same as openSkops(), of the files' bytes by name. */
export function openParts(parts: ReadonlyMap<string, Uint8Array>): Opened {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(parts.get(SKOPS_SCHEMA));
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw new RangeError(`${SKOPS_SCHEMA}: ${(error as Error).message}`);
  }
  const { protocol, _skops_version: version } = (schema ?? {}) as Readonly<Record<string, unknown>>;
  if (!Number.isInteger(protocol) || (protocol as number) < 0) {
    throw new RangeError(
      `${SKOPS_SCHEMA}: protocol: expected a number, got ${String(protocol ?? 'nothing')}`,
    );
  }
  if ((protocol as number) > PROTOCOL_MAX) {
    throw new RangeError(
      `${SKOPS_SCHEMA}: expected protocol 0 to ${PROTOCOL_MAX}, got ${String(protocol)}: ` +
        'the file is of a newer version of skops',
    );
  }
  const arrays = new Map<string, NumpyArray>();
  const arrayAt = (name: string): NumpyArray => {
    const known = arrays.get(name);
    if (known !== undefined) return known;
    const bytes = parts.get(name);
    if (bytes === undefined || name === SKOPS_SCHEMA) {
      throw new RangeError(`the file has no array ${JSON.stringify(name)}`);
    }
    const array = readNpy(bytes);
    arrays.set(name, array);
    return array;
  };
  const root = new Item(schema, { arrayAt }, '', 0);
  return { root, version: typeof version === 'string' ? version : '' };
}
