// Protobuf messages described as data. Control plane, any thread; pure. A decoded message is a
// plain object as in protobuf's JSON form, with proto field names: enums by name, maps as objects,
// 64-bit integers as numbers if exact, else as decimal text. Only members that were written are
// present. Source: protobuf.dev (JSON mapping).
import { MAP_ENTRY } from './generated/map-entry-fields.js';

export type ScalarName =
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'float'
  | 'double'
  | 'bool'
  | 'string'
  | 'bytes';

export type FieldType =
  | { readonly kind: 'scalar'; readonly scalar: ScalarName }
  | EnumSchema
  | MessageSchema
  /** A message whose contents are not needed here: read as {}. */
  | { readonly kind: 'opaque' };

export interface EnumSchema {
  readonly kind: 'enum';
  readonly values: Readonly<Record<string, number>>;
}

export interface FieldSchema {
  readonly number: number;
  readonly type: FieldType;
  readonly repeated: boolean;
  /** Set on maps: the key's type; `type` is the value's. */
  readonly mapKey: ScalarName | undefined;
  readonly oneof: string | undefined;
}

type Fields = Readonly<Record<string, FieldSchema>>;

/** Made by message(). */
export interface MessageSchema {
  readonly kind: 'message';
  /** Name in errors. */
  readonly name: string;
  /** In the order of their declaration, which JSON output keeps. */
  readonly fields: Fields;
  /** Ascending. */
  readonly byNumber: ReadonlyMap<number, readonly [name: string, field: FieldSchema]>;
}

export type MessageValue = Readonly<Record<string, unknown>>;

type TypeOrScalar = FieldType | ScalarName;

const field = (
  number: number,
  type: TypeOrScalar,
  extra: Partial<FieldSchema> = {},
): FieldSchema => ({
  number,
  type: typeof type === 'string' ? scalar(type) : type,
  repeated: false,
  mapKey: undefined,
  oneof: undefined,
  ...extra,
});

/** Resolves its fields at first use: messages contain each other, and most are never used. */
class LazyMessage implements MessageSchema {
  readonly kind = 'message';
  readonly name: string;
  readonly #make: () => Fields;
  #fields: Fields | undefined;
  #byNumber: MessageSchema['byNumber'] | undefined;

  constructor(name: string, make: () => Fields) {
    this.name = name;
    this.#make = make;
  }

  get fields(): Fields {
    return (this.#fields ??= this.#make());
  }

  get byNumber(): MessageSchema['byNumber'] {
    if (this.#byNumber === undefined) {
      const sorted = Object.entries(this.fields).sort(([, a], [, b]) => a.number - b.number);
      this.#byNumber = new Map(sorted.map((entry) => [entry[1].number, entry]));
    }
    return this.#byNumber;
  }
}

export const message = (name: string, fields: () => Fields): MessageSchema =>
  new LazyMessage(name, fields);
export const scalar = (name: ScalarName): FieldType => ({ kind: 'scalar', scalar: name });
export const choice = (values: Readonly<Record<string, number>>): EnumSchema => ({
  kind: 'enum',
  values,
});
export const OPAQUE: FieldType = { kind: 'opaque' };
export const one = (number: number, type: TypeOrScalar): FieldSchema => field(number, type);
export const many = (number: number, type: TypeOrScalar): FieldSchema =>
  field(number, type, { repeated: true });
export const map = (number: number, key: ScalarName, type: TypeOrScalar): FieldSchema =>
  field(number, type, { mapKey: key });
/** A member of the oneof `group`. */
export const oneOf = (group: string, number: number, type: TypeOrScalar): FieldSchema =>
  field(number, type, { oneof: group });
/** One entry of a map. */
export const mapEntry = (name: string, { mapKey = 'string', type }: FieldSchema): MessageSchema =>
  message(name, () => ({
    key: one(MAP_ENTRY.key, mapKey),
    value: one(MAP_ENTRY.value, type),
  }));

const INTEGER_RANGE: Readonly<Partial<Record<ScalarName, readonly [bigint, bigint]>>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};
const DEFAULTS: Readonly<Record<ScalarName, unknown>> = {
  int32: 0,
  int64: 0,
  uint32: 0,
  uint64: 0,
  float: 0,
  double: 0,
  bool: false,
  string: '',
  bytes: new Uint8Array(0),
};

/** Value of a scalar, an enum or a message that was not written. */
export function defaultValue(type: FieldType): unknown {
  if (type.kind === 'scalar') return DEFAULTS[type.scalar];
  if (type.kind === 'enum') return enumName(type.values, 0n) ?? '';
  return {};
}

export function enumName(
  values: Readonly<Record<string, number>>,
  number: bigint,
): string | undefined {
  return Object.keys(values).find((name) => BigInt(values[name] ?? 0) === number);
}

export function isInteger(name: ScalarName): boolean {
  return INTEGER_RANGE[name] !== undefined;
}

/** Whether the type is an integer type that can hold the value. */
export function isInRange(name: ScalarName, value: bigint): boolean {
  const range = INTEGER_RANGE[name];
  return range !== undefined && value >= range[0] && value <= range[1];
}

/** The integer in its JSON form, or undefined if the type cannot hold it. */
export function integerValue(name: ScalarName, value: bigint): number | string | undefined {
  if (!isInRange(name, value)) return undefined;
  const exact = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
  return exact ? Number(value) : value.toString();
}

/** "int32 (-2147483648 to 2147483647)" and the like, for errors. */
export function typeText(type: FieldType): string {
  switch (type.kind) {
    case 'scalar': {
      const range = INTEGER_RANGE[type.scalar];
      return range === undefined ? type.scalar : `${type.scalar} (${range[0]} to ${range[1]})`;
    }
    case 'enum':
      return `one of ${Object.keys(type.values).join(', ')}`;
    case 'message':
      return `a message in braces (${type.name})`;
    case 'opaque':
      return 'a message in braces';
  }
}

/** Typed accessors for members of a decoded message; the schema guarantees the types. */
export const read = {
  text(value: MessageValue | undefined, name: string): string {
    const found = value?.[name];
    return typeof found === 'string' ? found : '';
  },
  /** 64-bit values beyond 2^53 are rounded. */
  int(value: MessageValue | undefined, name: string): number {
    return Number(value?.[name] ?? 0);
  },
  bool(value: MessageValue | undefined, name: string): boolean {
    return value?.[name] === true;
  },
  ints(value: MessageValue | undefined, name: string): readonly number[] {
    return ((value?.[name] ?? []) as readonly unknown[]).map(Number);
  },
  texts(value: MessageValue | undefined, name: string): readonly string[] {
    return (value?.[name] ?? []) as readonly string[];
  },
  child(value: MessageValue | undefined, name: string): MessageValue | undefined {
    return value?.[name] as MessageValue | undefined;
  },
  children(value: MessageValue | undefined, name: string): readonly MessageValue[] {
    return (value?.[name] ?? []) as readonly MessageValue[];
  },
  /** Entries of a map. */
  entries<T = MessageValue>(
    value: MessageValue | undefined,
    name: string,
  ): readonly (readonly [string, T])[] {
    return Object.entries((value?.[name] ?? {}) as Readonly<Record<string, T>>);
  },
};
