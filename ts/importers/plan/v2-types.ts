// Converts plan types to V2's terms, and schema files to plan types. Control plane; pure. Source:
// tabular.md 1 (the table of types), 2.4.
import type { Datatype } from '../../model/snapshot.js';
import type { Type } from './generated/plan.js';

/** A type of a plan with what belongs to it. */
export interface FullType {
  readonly type: Type;
  /** Element type of a list. */
  readonly element?: Type;
  /** Size of a vector, or of an output's list; -1 = free. */
  readonly size?: number;
}

const OF_DATATYPE: Readonly<Partial<Record<Datatype, Type>>> = {
  BOOL: 'bool',
  INT8: 'int8',
  INT16: 'int16',
  INT32: 'int32',
  INT64: 'int64',
  UINT8: 'int16',
  UINT16: 'int32',
  UINT32: 'int64',
  FP16: 'float',
  FP32: 'float',
  FP64: 'double',
  BYTES: 'string',
  STRING: 'string',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  VECTOR: 'vector',
};

const DATATYPES: Readonly<Record<Type, Datatype>> = {
  any: 'STRING',
  bool: 'BOOL',
  int8: 'INT8',
  int16: 'INT16',
  int32: 'INT32',
  int64: 'INT64',
  float: 'FP32',
  double: 'FP64',
  decimal: 'FP64',
  string: 'STRING',
  binary: 'BYTES',
  date: 'DATE',
  time: 'STRING',
  timestamp: 'TIMESTAMP',
  vector: 'VECTOR',
  list: 'STRING',
};

const INTEGERS: readonly Type[] = ['int8', 'int16', 'int32', 'int64'];

/** The datatype of values of a type in requests and responses; that of a list is its element's. */
export function datatypeOfType({ type, element = 'any' }: FullType): Datatype {
  return DATATYPES[type === 'list' ? element : type];
}

/** The shape of a type in metadata. */
export function shapeOfType({ type, size = -1 }: FullType): readonly number[] {
  if (type !== 'vector' && type !== 'list') return [-1];
  return size >= 0 ? [-1, size] : [-1, 1, -1];
}

/**
 * Returns the plan type of a datatype and a shape; a string: why there is none. `asVector`: doubles
 * of more than one column are a vector.
 */
export function typeOfTensor(
  datatype: string,
  shape: readonly number[],
  asVector: boolean,
): FullType | string {
  const type = Object.hasOwn(OF_DATATYPE, datatype) ? OF_DATATYPE[datatype as Datatype] : undefined;
  if (type === undefined) {
    return `expected a datatype of ${Object.keys(OF_DATATYPE).join(', ')}, got ${datatype}`;
  }
  const [, columns = 1, length] = shape;
  const fits = shape.length === 1 || shape.length === 2 || (shape.length === 3 && columns === 1);
  const sizes = shape.every((dim) => Number.isSafeInteger(dim) && dim >= -1);
  if (!fits || !sizes) {
    return `expected a shape of [-1], [-1, D] or [-1, 1, -1], got [${shape.join(', ')}]`;
  }
  const size = length ?? (shape.length === 2 ? columns : -1);
  if (type === 'vector') return { type, size: shape.length === 1 ? -1 : size };
  if (shape.length < 3 && columns === 1) return { type };
  if (asVector && (type === 'double' || type === 'float')) return { type: 'vector', size };
  return { type: 'list', element: type };
}

/** Whether values of one type can be taken for another's without loss (or as the rules allow).
 * Source: tabular.md 2.1, X5, X18, X25. */
export function widens(from: FullType, to: FullType): boolean {
  if (to.type === 'any') return true;
  if (to.type === 'list' || to.type === 'vector') return widensList(from, to);
  return widensScalar(from.type, to.type);
}

function widensList(from: FullType, to: FullType): boolean {
  const isList = from.type === 'list' || from.type === 'vector';
  if (!isList) return false;
  if (from.type === 'vector' && to.type === 'vector') return sizesFit(from.size, to.size);
  const element = from.type === 'vector' ? 'double' : (from.element ?? 'any');
  if (element === 'any') return true;
  return widensScalar(element, to.type === 'vector' ? 'double' : (to.element ?? 'any'));
}

const sizesFit = (from = -1, to = -1): boolean => from < 0 || to < 0 || from === to;

function widensScalar(from: Type, to: Type): boolean {
  if (from === to || to === 'any') return true;
  const [narrow, wide] = [INTEGERS.indexOf(from), INTEGERS.indexOf(to)];
  if (narrow >= 0 && wide >= 0) return narrow < wide;
  if (to === 'double' || to === 'decimal')
    return narrow >= 0 || from === 'float' || from === 'double';
  // Doubles are rounded to a float field, as JPMML does.
  if (to === 'float') return from === 'double' || (narrow >= 0 && narrow < 2);
  return to === 'binary' && from === 'string';
}
