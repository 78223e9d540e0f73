// Access to the values of settings while a configuration is built. Control plane, start-up only.
import type { Written } from './values.js';

/** How ts/config/config.ts reads one flag. */
export interface SettingsReader {
  readonly int: (name: string) => number;
  readonly bool: (name: string) => boolean;
  /** Same as `int`, for a text that was written elsewhere. */
  readonly intOf: (name: string, from: Written) => number;
  readonly boolOf: (from: Written) => boolean;
  readonly written: (name: string) => Written;
  readonly given: (name: string) => Written | undefined;
  readonly filePath: (name: string) => string | undefined;
}
