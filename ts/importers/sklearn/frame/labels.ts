// The classes that a classifier answers with. Importer's worker thread; pure.
import { call, type Column, columnRef, constant, type Expression } from '../../plan/builder.js';
import type { PlanBuilder } from '../../plan/builder.js';
import { addPick } from '../../plan/forest.js';
import type { Type } from '../../plan/generated/plan.js';
import type { Item } from '../read/item.js';

export interface Labels {
  readonly kind: 'integer' | 'real' | 'text' | 'flag';
  readonly values: readonly (number | string | boolean)[];
}

const INT32 = 2 ** 31;

/** Errors: RangeError: not one dimension, mixed types. */
export function labelsOf(item: Item): Labels {
  const { shape, values, kind } = item.array();
  if (shape.length !== 1 || values.length === 0) {
    throw item.bad('expected a list of classes for one output');
  }
  const isAll = (type: string): boolean => values.every((value) => typeof value === type);
  const known = values as readonly (number | string | boolean)[];
  if (isAll('string')) return { kind: 'text', values: known };
  if (isAll('boolean')) return { kind: 'flag', values: known };
  if (!isAll('number')) throw item.bad('expected classes of one type: texts, numbers or booleans');
  const isInteger = kind !== 'real' && values.every((value) => Number.isInteger(value));
  if (!isInteger) return { kind: 'real', values: known };
  const wide = known.find((value) => Math.abs(value as number) >= INT32);
  if (wide !== undefined) throw item.bad(`expected classes of 32 bits, got ${String(wide)}`);
  return { kind: 'integer', values: known };
}

/** The classes of an estimator. Errors: RangeError: fewer than two. */
export function severalClasses(item: Item): Labels {
  const classes = labelsOf(item.get('classes_'));
  if (classes.values.length > 1) return classes;
  throw item.bad('classes_: expected two classes or more, got 1');
}

/** The label of a position. */
export function labelColumn(
  builder: PlanBuilder,
  index: Column,
  { kind, values }: Labels,
  place: string,
): { readonly type: Type; readonly value: Expression } {
  const number = call('sql.cast', columnRef(index), constant('int'));
  const at = builder.derive('position of the class', 'int32', number, place);
  switch (kind) {
    case 'text': {
      const column = builder.column('class', 'string');
      addPick(builder, at, { texts: values.map(String) }, column, place);
      return { type: 'string', value: columnRef(column) };
    }
    case 'real': {
      const column = builder.column('class', 'double');
      addPick(builder, at, { reals: Float64Array.from(values, Number) }, column, place);
      return { type: 'double', value: columnRef(column) };
    }
    case 'integer':
    case 'flag': {
      const column = builder.column('class', 'int32');
      addPick(builder, at, { integers: Int32Array.from(values, Number) }, column, place);
      const isFlag = kind === 'flag';
      const value = call('sql.cast', columnRef(column), constant(isFlag ? 'boolean' : 'bigint'));
      return { type: isFlag ? 'bool' : 'int64', value };
    }
  }
}
