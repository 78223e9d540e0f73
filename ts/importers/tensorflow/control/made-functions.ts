// Functions that the importer makes itself (bodies of TensorFlow 1's loops and conditions). They
// are found by the reference object and not by its name: no file can name one. Importer's worker
// thread.
import type { FlatFunction, FunctionRef } from '../types.js';

const MADE = new WeakMap<FunctionRef, FlatFunction>();

/** A reference to the function, as a node's attribute. */
export function refTo(body: FlatFunction): FunctionRef {
  const ref: FunctionRef = { name: body.name, attributes: new Map() };
  MADE.set(ref, body);
  return ref;
}

/** The made function; undefined for a reference out of a file. */
export const madeFunction = (ref: FunctionRef): FlatFunction | undefined => MADE.get(ref);
