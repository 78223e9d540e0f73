// The error for a wrong command line or configuration file: exit code 2, not 1. Control plane.
import { ServalError } from '../base/errors.js';

const NAME = 'UsageError';

export class UsageError extends ServalError {
  override readonly name = NAME;
}

/** Checked by name: in the bundle a command may have a separate copy of the class. */
export function isUsageError(error: unknown): boolean {
  return error instanceof Error && error.name === NAME;
}

/** Runs `parse` and converts a ServalError that it throws to a UsageError. */
export async function asUsage<T>(parse: () => T | Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof ServalError) throw new UsageError(error.code, error.message);
    throw error;
  }
}
