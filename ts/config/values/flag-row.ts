// A row of the table of settings: a flag, and the configuration member that holds its value.
// Control plane, start-up only.
import type { AttachOptions } from '../../base/generated/attach-options.js';
import type { ProviderOptions } from '../../model/engine-api.js';
import type { SettingsReader } from './settings-reader.js';
import {
  boolValue,
  choiceValue,
  graphOptimizationValue,
  intOrAutoValue,
  providersValue,
  sizeValue,
  textValue,
  type Written,
} from './values.js';

/** Conversion of a flag's text to a value. "list" flags may be repeated. */
export type FlagType =
  | { readonly kind: 'text' }
  | { readonly kind: 'path' }
  | { readonly kind: 'path-list' }
  | { readonly kind: 'text-list' }
  | { readonly kind: 'int'; readonly min: number; readonly max: number }
  | { readonly kind: 'int-or-auto'; readonly min: number; readonly max: number }
  | { readonly kind: 'bool' }
  /** Bytes, also written as 512M or 4G. */
  | { readonly kind: 'size' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'graph-optimization' }
  | { readonly kind: 'providers' };

export const BOOL = { kind: 'bool' } as const;
export const TEXT = { kind: 'text' } as const;
export const TEXT_LIST = { kind: 'text-list' } as const;

export interface FlagRow {
  /** Kebab-case; underscores and camelCase are equivalent. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly type: FlagType;
  /** The default as it is written; "" = none. */
  readonly default: string;
  /** The placeholder of the value in --help. */
  readonly value: string;
  readonly help: string;
  /** A plain argument on the command line; only in the file is it a key. */
  readonly positional?: true;
  /** Only a flag; not a key of the file. */
  readonly commandLineOnly?: true;
  /** Also a setting of the library and of commands that load a model without a server. */
  readonly ofModels?: true;
}

/** The value of a setting, when its row has no `as` or `read`. */
type ValueOf<T extends FlagType> = T extends { readonly choices: readonly (infer C)[] }
  ? C
  : {
      readonly text: string;
      readonly path: string | undefined;
      readonly 'path-list': readonly string[];
      readonly 'text-list': readonly string[];
      readonly int: number;
      readonly 'int-or-auto': number | 'auto';
      readonly bool: boolean;
      readonly size: number;
      readonly choice: string;
      readonly 'graph-optimization': number;
      readonly providers: readonly ProviderOptions[];
    }[T['kind']];

/** A row whose value is one member of the configuration. */
export interface Setting<To extends string = string, V = unknown> extends FlagRow {
  /** The member: "httpPort", "model.instances". */
  readonly to: To;
  /** The engine option that has the same value. */
  readonly engine?: keyof AttachOptions;
  readonly valueIn: (read: SettingsReader) => V;
}

type RowExtra = Pick<FlagRow, 'positional' | 'commandLineOnly' | 'ofModels'> & {
  readonly aliases?: readonly string[];
};

type SettingExtra<T extends FlagType, V> = RowExtra & {
  /** Converts the value. */
  readonly as?: (value: ValueOf<T>) => V;
  /**
   * Reads the text instead of the flag's type; not called for a flag without a default that is not
   * given.
   */
  readonly read?: (written: Written) => V;
  readonly engine?: OptionsWith<V>;
};

/** The engine options that accept a V. */
type OptionsWith<V> = {
  [K in keyof AttachOptions]-?: V extends AttachOptions[K] ? K : never;
}[keyof AttachOptions];

/** The type of a flag whose value is one of these words. */
export const choice = <const C extends readonly string[]>(choices: C) =>
  ({ kind: 'choice', choices }) as const;

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

/** Makes the row of a flag whose value is the configuration member `to`. */
export function setting<const To extends string, const T extends FlagType, V = ValueOf<T>>(
  to: To,
  name: string,
  value: string,
  type: T,
  standard: string | number,
  help: string,
  extra: SettingExtra<T, V> = {},
): Setting<To, V> {
  const { as, read, engine, ...rest } = extra;
  const valueIn = (from: SettingsReader): V => {
    if (read !== undefined) return read(from.written(name));
    const plain = plainValue(type, name, from) as ValueOf<T>;
    // Without `as`, V is ValueOf<T>.
    return as === undefined ? (plain as V) : as(plain);
  };
  const row = flag(name, value, type, standard, help, rest);
  return { ...row, to, valueIn, ...(engine && { engine }) };
}

function plainValue(type: FlagType, name: string, from: SettingsReader): unknown {
  switch (type.kind) {
    case 'int':
      return from.int(name);
    case 'int-or-auto':
      return intOrAutoValue(type, from.written(name));
    case 'bool':
      return boolValue(from.written(name));
    case 'size':
      return sizeValue(from.written(name));
    case 'path':
      return from.filePath(name);
    case 'text':
      return textValue(from.written(name));
    case 'choice':
      return choiceValue(type.choices, from.written(name));
    case 'graph-optimization':
      return graphOptimizationValue(from.written(name));
    case 'providers':
      return providersValue(from.written(name));
    case 'text-list':
    case 'path-list':
      return from.given(name)?.texts ?? [];
  }
}

type HeadOf<To extends string> = To extends `${infer Group}.${string}` ? Group : To;
type ValueIn<S> = S extends Setting<string, infer V> ? V : never;
type GroupOf<S extends Setting, Group extends string> = {
  readonly [One in S as One['to'] extends `${Group}.${infer Name}` ? Name : never]: ValueIn<One>;
};

/** The part of the configuration that rows fill. */
export type SettingValues<S extends Setting> = {
  readonly [Head in HeadOf<S['to']>]: [Extract<S, { readonly to: Head }>] extends [never]
    ? GroupOf<S, Head>
    : ValueIn<Extract<S, { readonly to: Head }>>;
};

/** Rows that are settings. */
export type SettingsOf<Rows extends readonly FlagRow[]> = Extract<Rows[number], Setting>;

const isSetting = (row: FlagRow): row is Setting => 'to' in row;

/** Reads the values of the rows that are settings. Errors: InvalidArgument naming the flag. */
export function settingValues<const Rows extends readonly FlagRow[]>(
  rows: Rows,
  read: SettingsReader,
): SettingValues<SettingsOf<Rows>> {
  const values: Record<string, unknown> = {};
  for (const row of rows.filter(isSetting)) {
    const [head = '', name] = row.to.split('.');
    const value = row.valueIn(read);
    if (name === undefined) values[head] = value;
    else values[head] = { ...(values[head] as object | undefined), [name]: value };
  }
  // The keys and values come from the rows that the type is derived from.
  return values as SettingValues<SettingsOf<Rows>>;
}

/** Returns the engine options that rows name, from a configuration. */
export function engineValues(rows: readonly FlagRow[], config: object): AttachOptions {
  const options: Record<string, unknown> = {};
  for (const { to, engine } of rows.filter(isSetting)) {
    if (engine === undefined) continue;
    options[engine] = to
      .split('.')
      .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], config);
  }
  // setting() lets a row name only an option with its value's type.
  return options;
}
