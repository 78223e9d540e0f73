// A row of the table of settings. Control plane, start-up only.

/** How a flag's text becomes a value. "list" flags may be repeated. */
export type FlagType =
  | { readonly kind: 'text' }
  | { readonly kind: 'path' }
  | { readonly kind: 'path-list' }
  | { readonly kind: 'text-list' }
  | { readonly kind: 'int'; readonly min: number; readonly max: number }
  | { readonly kind: 'bool' }
  /** Bytes, also as 512M or 4G. */
  | { readonly kind: 'size' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'graph-optimization' }
  | { readonly kind: 'providers' };

export interface FlagRow {
  /** Kebab-case; underscores and camelCase mean the same. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly type: FlagType;
  /** As it would be written; "" = none. */
  readonly default: string;
  /** What stands for the value in --help. */
  readonly value: string;
  readonly help: string;
  /** Given as plain arguments on the command line; a key only in the file. */
  readonly positional?: true;
  /** A flag only; no key of the file. */
  readonly commandLineOnly?: true;
}

type RowExtra = Pick<FlagRow, 'positional' | 'commandLineOnly'> & { aliases?: readonly string[] };

export function flag(
  name: string,
  value: string,
  type: FlagType,
  standard: string | number,
  help: string,
  extra: RowExtra = {},
): FlagRow {
  const { aliases = [], ...rest } = extra;
  return { name, aliases, type, default: String(standard), value, help, ...rest };
}
