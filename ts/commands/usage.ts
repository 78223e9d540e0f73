// The error for a wrong command line or configuration file: exit code 2, not 1. Control plane.
import { ServalError } from '../errors.js';

export class UsageError extends ServalError {}

/** Runs `parse`; a ServalError that it throws becomes a UsageError. */
export async function asUsage<T>(parse: () => T | Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof ServalError) throw new UsageError(error.code, error.message);
    throw error;
  }
}
