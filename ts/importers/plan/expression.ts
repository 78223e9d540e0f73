// Expressions of a plan: how importers write them, and how they lie in it. Importer's worker
// thread; pure.
import { EXPRESSION_DEPTH_MAX } from '../../base/limits.js';
import type { FunctionName } from './generated/functions.js';
import type { Node, Expression as PlanExpression, Value } from './generated/plan.js';

/** A column's number. */
export type Column = number & { readonly column: unique symbol };

/** An expression before it is flattened. A shared subexpression appears once per use. */
export type Expression =
  | { readonly call: FunctionName; readonly args: readonly Expression[] }
  | { readonly column: Column }
  | { readonly value: Value };

/** Maximum number of nodes of one expression; a shared subexpression counts once per use. */
export const EXPRESSION_NODES_MAX = 1_000_000;

export function call(name: FunctionName, ...args: readonly Expression[]): Expression {
  return { call: name, args };
}

export function columnRef(column: Column): Expression {
  return { column };
}

/** A number is a Double, a string a String, a boolean a Bool. */
export function constant(value: number | string | boolean | Value): Expression {
  if (typeof value === 'number') return { value: { type: 'double', real: value } };
  if (typeof value === 'string') return { value: { type: 'string', text: value } };
  if (typeof value === 'boolean') return { value: { type: 'bool', integer: value ? 1 : 0 } };
  return { value };
}

/**
 * Returns the nodes of an expression, arguments before their calls. Calls `read` for each column.
 * Errors: RangeError if it is too deep or too large.
 */
export function flatten(root: Expression, read: (column: Column) => void): PlanExpression {
  const nodes: Node[] = [];
  const add = (one: Expression, depth: number): number => {
    if (depth > EXPRESSION_DEPTH_MAX) {
      throw new RangeError(
        `expected expressions of at most ${EXPRESSION_DEPTH_MAX} nested calls, got ${depth}`,
      );
    }
    if (nodes.length >= EXPRESSION_NODES_MAX) {
      throw new RangeError(`an expression has more than ${EXPRESSION_NODES_MAX} parts`);
    }
    if ('call' in one) {
      const parts = one.args.map((argument) => add(argument, depth + 1));
      return nodes.push({ call: one.call, arguments: parts }) - 1;
    }
    if ('column' in one) read(one.column);
    return nodes.push('column' in one ? { column: one.column } : { value: one.value }) - 1;
  };
  add(root, 1);
  return { nodes };
}
