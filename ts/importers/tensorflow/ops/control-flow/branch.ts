// If and Case in their functional forms. A known condition selects one branch, and the other is not
// lowered. Importer's worker thread. Source: tensorflow-import.md 4.3 "Control flow".
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import { stringsTensor } from '../../lower/tensors.js';
import { commonShape, type TensorValue, type Value } from '../../lower/values.js';
import type { FlatFunction } from '../../types.js';
import { commonValue, flatten, isSame, rebuild } from './flat-values.js';

/**
 * A condition as TensorFlow evaluates it: a bool, a number that is not 0, a string that is not "";
 * any other tensor counts as true if it has elements.
 */
export function truth(cx: OpContext, value: TensorValue): TensorValue {
  const bool = { dtype: 'bool', shape: [] } as const;
  if ((value.shape?.length ?? 0) > 0) {
    const size = cx.op('Size', [value], { dtype: 'int64', shape: [] });
    return cx.op('Greater', [size, cx.scalar('int64', 0)], bool);
  }
  const scalar = value.shape === undefined ? cx.reshape(value, [], []) : value;
  if (value.dtype !== 'string') return cx.cast(scalar, 'bool');
  return cx.op('Not', [cx.op('Equal', [scalar, cx.constant(stringsTensor([], ['']))], bool)], bool);
}

/** One of two functions, by a scalar condition. */
export function choose(
  cx: OpContext,
  condition: TensorValue,
  yes: FlatFunction,
  no: FlatFunction,
  args: readonly Value[],
): readonly Value[] {
  const known = condition.shape?.length === 0 ? condition.ints?.[0] : undefined;
  if (known !== undefined) return cx.around.inline(known === 0 ? no : yes, args);
  return emitIf(
    cx,
    truth(cx, condition),
    () => cx.around.subgraph(yes, args),
    () => cx.around.subgraph(no, args),
  );
}

type Branch = () => ReturnType<OpContext['around']['subgraph']>;

function emitIf(
  cx: OpContext,
  condition: TensorValue,
  makeYes: Branch,
  makeNo: Branch,
): readonly Value[] {
  const { result: yes, assigned: assignedYes } = cx.around.assignedBy(makeYes);
  const { result: no, assigned: assignedNo } = cx.around.assignedBy(makeNo);
  const keys = [...new Set([...assignedYes.keys(), ...assignedNo.keys()])];
  const after = (assigned: typeof assignedYes): TensorValue[] =>
    keys.map((key) => assigned.get(key) ?? cx.around.readVariable(key));
  const results = yes.results.map((value, i) => {
    const other = no.results[i];
    if (other === undefined) return cx.fail('its branches return different numbers of values');
    return { yes: value, no: other, like: commonValue(cx, value, other) };
  });
  const yesCx = inside(cx, yes);
  const noCx = inside(cx, no);
  const parts = results.map((one) => {
    // A handle, or the same value of the enclosing graph: the branch need not return it.
    if (isSame(one.yes, one.no)) return { ...one, yesTensors: [], noTensors: [] };
    return {
      ...one,
      yesTensors: flatten(yesCx, one.yes),
      noTensors: flatten(noCx, one.no),
    };
  });
  const fromYes = [...parts.flatMap((one) => one.yesTensors), ...after(assignedYes)];
  const fromNo = [...parts.flatMap((one) => one.noTensors), ...after(assignedNo)];
  const outputs = fromYes.map((value, i) => joined(cx, value, fromNo[i]));
  if (outputs.length > 0) {
    cx.builder.push(
      'If',
      [cx.builder.use(condition)],
      outputs.map((one) => one.name ?? ''),
      {
        then_branch: { graph: yes.finish('then', [], fromYes) },
        else_branch: { graph: no.finish('else', [], fromNo) },
      },
    );
  }
  let next = 0;
  const values = parts.map(({ like, yesTensors }) => {
    const own = outputs.slice(next, next + yesTensors.length);
    next += yesTensors.length;
    return rebuild(like, own);
  });
  keys.forEach((key, i) => {
    const value = outputs[next + i];
    if (value !== undefined) cx.around.assignVariable(key, value);
  });
  return values;
}

/** The context that adds to another graph. */
export function inside(cx: OpContext, { builder }: { builder: OpContext['builder'] }): OpContext {
  return cx.within(builder);
}

function joined(cx: OpContext, yes: TensorValue, no: TensorValue | undefined): TensorValue {
  if (no === undefined || yes.dtype !== no.dtype) {
    return cx.fail(
      `its branches return ${yes.dtype} and ${no?.dtype ?? 'nothing'}: expected one data type`,
    );
  }
  const name = cx.builder.model.name('If');
  cx.builder.describe(name, yes.dtype);
  return { kind: 'tensor', name, dtype: yes.dtype, shape: commonShape(yes.shape, no.shape) };
}

const branchOf = (cx: OpContext, name: string): FlatFunction =>
  cx.around.function(cx.functionRef(name));

const ifThen: Lowering = (cx) =>
  choose(
    cx,
    cx.tensor(0),
    branchOf(cx, 'then_branch'),
    branchOf(cx, 'else_branch'),
    cx.inputs.slice(1),
  );

/** An index out of range selects the last branch, as in TensorFlow. */
const switchCase: Lowering = (cx) => {
  const branches = cx.list('branches').functions.map((ref) => cx.around.function(ref));
  const index = cx.tensor(0);
  const args = cx.inputs.slice(1);
  const last = branches.length - 1;
  const known = index.ints?.[0];
  if (last <= 0 || known !== undefined) {
    const taken = known !== undefined && known >= 0 && known < last ? known : Math.max(last, 0);
    return cx.around.inline(branches[taken] ?? cx.fail('it has no branches'), args);
  }
  const scalar = cx.reshape(index, [], []);
  const bool = { dtype: 'bool', shape: [] } as const;
  const isInside = cx.op(
    'And',
    [
      cx.op('GreaterOrEqual', [scalar, cx.scalar(index.dtype, 0)], bool),
      cx.op('Less', [scalar, cx.scalar(index.dtype, last)], bool),
    ],
    bool,
  );
  const taken = cx.op('Where', [isInside, scalar, cx.scalar(index.dtype, last)], {
    dtype: index.dtype,
    shape: [],
  });
  return oneOf(cx, taken, branches, 0, args);
};

/**
 * Selects branch `index - first`, which is in range, by bisection, so that n branches nest log2(n)
 * deep.
 */
function oneOf(
  cx: OpContext,
  index: TensorValue,
  branches: readonly FlatFunction[],
  first: number,
  args: readonly Value[],
): readonly Value[] {
  const [only] = branches;
  if (only === undefined) return cx.fail('it has no branches');
  if (branches.length === 1) return cx.around.inline(only, args);
  const half = branches.length >> 1;
  const isLower = cx.op('Less', [index, cx.scalar(index.dtype, first + half)], {
    dtype: 'bool',
    shape: [],
  });
  const part =
    (from: number, to: number): Branch =>
    () =>
      cx.around.nested(
        (inner) => oneOf(inner, index, branches.slice(from, to), first + from, args),
        cx,
      );
  return emitIf(cx, isLower, part(0, half), part(half, branches.length));
}

export const BRANCHES: Operators = {
  If: { lower: ifThen, dtypes: 'any' },
  StatelessIf: { lower: ifThen, dtypes: 'any' },
  Case: { lower: switchCase, dtypes: 'any' },
  StatelessCase: { lower: switchCase, dtypes: 'any' },
};
