// Functions that the importer creates (bodies of TensorFlow 1's loops and conditions). They are
// found by the reference object and not by name: no file can name one. Importer's worker thread.
import type { FlatFunction, FunctionRef } from '../types.js';

const MADE = new WeakMap<FunctionRef, FlatFunction>();

/** A reference to the function, as a node's attribute. */
export function refTo(body: FlatFunction): FunctionRef {
  const ref: FunctionRef = { name: body.name, attributes: new Map() };
  MADE.set(ref, body);
  return ref;
}

/** The created function; undefined for a reference from a file. */
export const madeFunction = (ref: FunctionRef): FlatFunction | undefined => MADE.get(ref);
