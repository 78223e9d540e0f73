// Arguments and attribute defaults of operators: TensorFlow's own registry (generated), the
// functions of the model, and the operators that the model itself describes. Importer's worker
// thread; pure. Source: TensorFlow 2.21's registry; FunctionLibraryDefinition::LookUp.
import { modelInvalid } from '../../../base/errors.js';
import type {
  ArgDef,
  Attribute,
  AttributeList,
  Attributes,
  Dtype,
  FunctionDef,
  OpDef,
  Shape,
} from '../types.js';
import { isDtype } from '../../../model/datatype.js';
import { OP_DEFS_1 } from './generated/op-defs-1.js';
import { OP_DEFS_2 } from './generated/op-defs-2.js';
import { OP_DEFS_3 } from './generated/op-defs-3.js';

/** Maximum tensors of one argument list. */
const ARGUMENTS_MAX = 1_048_576;

/** An input or output argument of a node: `count` consecutive tensors. */
export interface NodeArg {
  readonly name: string;
  readonly count: number;
  /** Type of all its tensors; undefined if they differ or the node does not say. */
  readonly dtype: Dtype | undefined;
  /** Type of each tensor, only for arguments that are lists of types. */
  readonly dtypes: readonly Dtype[] | undefined;
}

type OpNode = { readonly op: string; readonly attributes: Attributes };

const NONE: Attributes = new Map();

/** Searches the functions first, then TensorFlow's registry, then the model's own list. */
export class OpTable {
  readonly #functions: ReadonlyMap<string, FunctionDef>;
  readonly #own: ReadonlyMap<string, OpDef>;

  constructor(own: readonly OpDef[] = [], functions: ReadonlyMap<string, FunctionDef> = new Map()) {
    this.#own = new Map(own.map((op) => [op.name, op]));
    this.#functions = functions;
  }

  find(op: string): OpDef | undefined {
    return this.#functions.get(op)?.signature ?? registered(op) ?? this.#own.get(op);
  }

  /** Errors: ModelInvalid: unknown op, attribute missing or of the wrong kind, too many. */
  outputs(op: string, attributes: Attributes): readonly NodeArg[] {
    return this.#arguments(op, attributes, 'outputs');
  }

  /** Errors: those of outputs(). */
  inputs(op: string, attributes: Attributes): readonly NodeArg[] {
    return this.#arguments(op, attributes, 'inputs');
  }

  /** Names of the input arguments. Errors: ModelInvalid for an unknown op. */
  inputNames(op: string): readonly string[] {
    return this.#known(op).inputs.map(({ name }) => name);
  }

  /** Empty for an unknown op. */
  defaults(op: string): Attributes {
    return this.find(op)?.defaults ?? NONE;
  }

  /** The attributes with defaults for missing ones. */
  complete(op: string, attributes: Attributes): Attributes {
    const defaults = this.defaults(op);
    if (defaults.size === 0) return attributes;
    return new Map([...defaults, ...attributes]);
  }

  /** false for an unknown op. */
  isStateful(op: string): boolean {
    return this.find(op)?.isStateful ?? false;
  }

  /** undefined: no such op or port, or the node does not say. */
  outputDtype(node: OpNode, output: number): Dtype | undefined {
    if (this.find(node.op) === undefined) return undefined;
    let first = 0;
    for (const { count, dtype, dtypes } of this.outputs(node.op, node.attributes)) {
      if (output < first + count) return dtypes?.[output - first] ?? dtype;
      first += count;
    }
    return undefined;
  }

  /** The number of outputs of the node; undefined for an unknown op. */
  outputCount(node: OpNode): number | undefined {
    if (this.find(node.op) === undefined) return undefined;
    return this.outputs(node.op, node.attributes).reduce((sum, { count }) => sum + count, 0);
  }

  #known(op: string): OpDef {
    const found = this.find(op);
    if (found !== undefined) return found;
    throw modelInvalid(
      `operator ${op}: expected TensorFlow's, a function or one that the model describes`,
    );
  }

  #arguments(op: string, attributes: Attributes, side: 'inputs' | 'outputs'): readonly NodeArg[] {
    const found = this.#known(op);
    const value = (name: string): Attribute | undefined =>
      attributes.get(name) ?? found.defaults.get(name);
    let total = 0;
    return found[side].map((arg) => {
      const resolved = resolve(op, arg, value);
      total += resolved.count;
      if (total <= ARGUMENTS_MAX) return resolved;
      throw modelInvalid(`operator ${op}: expected at most ${ARGUMENTS_MAX} ${side}, got more`);
    });
  }
}

function resolve(op: string, arg: ArgDef, value: (name: string) => Attribute | undefined): NodeArg {
  const { name } = arg;
  if (arg.typeListAttr !== '') {
    const list = value(arg.typeListAttr);
    if (list?.kind !== 'list') throw missing(op, arg.typeListAttr, 'a list of types', list);
    const dtypes = list.value.types;
    const [first] = dtypes;
    const dtype = dtypes.every((each) => each === first) ? first : undefined;
    return { name, count: dtypes.length, dtype, dtypes };
  }
  const type = arg.typeAttr === '' ? undefined : value(arg.typeAttr);
  const dtype = type?.kind === 'type' ? type.value : arg.type;
  if (arg.numberAttr === '') return { name, count: 1, dtype, dtypes: undefined };
  const number = value(arg.numberAttr);
  if (number?.kind !== 'int' || number.value < 0n || number.value > BigInt(ARGUMENTS_MAX)) {
    throw missing(op, arg.numberAttr, `a number from 0 to ${ARGUMENTS_MAX}`, number);
  }
  return { name, count: Number(number.value), dtype, dtypes: undefined };
}

function missing(op: string, name: string, what: string, got: Attribute | undefined): Error {
  const gotText = got?.kind === 'int' ? String(got.value) : (got?.kind ?? 'nothing');
  return modelInvalid(`operator ${op}: attribute "${name}": expected ${what}, got ${gotText}`);
}

/** Lines of the generated table by operator; parsed at first use. */
let lines: ReadonlyMap<string, string> | undefined;
const parsed = new Map<string, OpDef>();

function registered(op: string): OpDef | undefined {
  const known = parsed.get(op);
  if (known !== undefined) return known;
  lines ??= new Map(
    [OP_DEFS_1, OP_DEFS_2, OP_DEFS_3].flatMap((text) =>
      text
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('|')), line] as const),
    ),
  );
  const line = lines.get(op);
  if (line === undefined) return undefined;
  const found = parseLine(line);
  parsed.set(op, found);
  return found;
}

/** name|stateful|inputs|outputs|defaults; see test/fixtures/tensorflow/make-op-table.py. */
function parseLine(line: string): OpDef {
  const [name = '', stateful = '', inputs = '', outputs = '', ...rest] = line.split('|');
  return {
    name,
    inputs: parseArgs(inputs),
    outputs: parseArgs(outputs),
    defaults: parseDefaults(rest.join('|')),
    isStateful: stateful === 's',
  };
}

function parseArgs(text: string): readonly ArgDef[] {
  if (text === '') return [];
  return text.split(',').map((arg) => {
    const [named = '', typed = ''] = arg.split(':');
    const [kind = '', numberAttr = ''] = typed.split('*');
    const isRef = named.startsWith('&');
    return {
      name: isRef ? named.slice(1) : named,
      isRef,
      numberAttr,
      typeAttr: kind.startsWith('@') ? kind.slice(1) : '',
      typeListAttr: kind.startsWith('+') ? kind.slice(1) : '',
      ...(isDtype(kind) ? { type: kind } : {}),
    };
  });
}

function parseDefaults(text: string): Attributes {
  if (text === '') return NONE;
  const defaults = new Map<string, Attribute>();
  for (const [key, value] of Object.entries(JSON.parse(text) as Record<string, unknown>)) {
    const colon = key.indexOf(':');
    const kind = key.slice(0, colon);
    defaults.set(
      key.slice(colon + 1),
      kind.startsWith('L')
        ? { kind: 'list', value: listOf(kind.slice(1), value as readonly unknown[]) }
        : scalarOf(kind, value),
    );
  }
  return defaults;
}

function listOf(kind: string, values: readonly unknown[]): AttributeList {
  const of = <T>(letter: string): readonly T[] =>
    kind === letter ? values.map((value) => scalarOf(kind, value).value as T) : [];
  return {
    bytes: of<Uint8Array>('s'),
    ints: of<bigint>('i'),
    floats: of<number>('f'),
    bools: of<boolean>('b'),
    types: of<Dtype>('t'),
    shapes: of<Shape>('h'),
    tensors: [],
    functions: [],
  };
}

function scalarOf(kind: string, value: unknown): Attribute {
  switch (kind) {
    case 'i':
      return { kind: 'int', value: BigInt(value as number) };
    case 'f':
      return { kind: 'float', value: Math.fround(Number(value)) };
    case 'b':
      return { kind: 'bool', value: value as boolean };
    case 's':
      return { kind: 'bytes', value: new Uint8Array(Buffer.from(value as string, 'latin1')) };
    case 't':
      return { kind: 'type', value: value as Dtype };
    case 'h': {
      const dims = value as readonly number[] | null;
      const shape = dims?.map((size) => (size < 0 ? undefined : size));
      return { kind: 'shape', value: shape };
    }
    default:
      throw new TypeError(`operator table: unknown kind of attribute ${kind}`);
  }
}
