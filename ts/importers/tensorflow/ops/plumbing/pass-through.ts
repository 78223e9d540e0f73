// Operators that pass on their input, and those that have no effect while serving. Importer's
// worker thread.
import type { Lowering, Operators } from '../../lower/context.js';
import type { Value } from '../../lower/values.js';

const first: Lowering = (cx) => cx.input(0);
const all: Lowering = (cx) => cx.inputs;
const nothing: Lowering = () => [];

/** Adds the shape that the graph promises; the runtime does not check it. */
const ensureShape: Lowering = (cx) => {
  const value = cx.tensor(0);
  const said = cx.shape('shape');
  if (said === undefined || value.constant !== undefined) return value;
  const shape = said.map((dim, i) => dim ?? value.shape?.[i]);
  return { ...value, shape };
};

/** A reference to a variable becomes its value here, before later assignments. */
const identity: Lowering = (cx) => {
  const value = cx.input(0);
  const isHandle = cx.type('T', 'float') === 'resource';
  return value.kind === 'variable' && !isHandle ? cx.tensor(0) : value;
};

/** PreventGradient and similar operators may also receive a list. */
const identityN: Lowering = (cx) => cx.inputs.map((value): Value => value);

export const PASS_THROUGH: Operators = {
  Identity: { lower: identity, dtypes: 'any' },
  IdentityN: { lower: identityN, dtypes: 'any' },
  RefIdentity: { lower: first, dtypes: 'any' },
  StopGradient: { lower: first, dtypes: 'any' },
  PreventGradient: { lower: first, dtypes: 'any' },
  Snapshot: { lower: identity, dtypes: 'any' },
  CheckNumerics: { lower: first, note: 'the check is skipped' },
  CheckNumericsV2: { lower: first, note: 'the check is skipped' },
  EnsureShape: { lower: ensureShape, dtypes: 'any', note: 'the check is skipped' },
  Print: { lower: first, dtypes: 'any', note: 'nothing is printed' },
  PrintV2: { lower: nothing, dtypes: 'any', note: 'nothing is printed' },
  Assert: { lower: nothing, dtypes: 'any', note: 'the check is skipped' },
  NoOp: { lower: nothing, dtypes: 'any' },
  ControlTrigger: { lower: nothing, dtypes: 'any' },
  OptimizationBarrier: { lower: all, dtypes: 'any' },
  DisableCopyOnRead: { lower: nothing, dtypes: 'any' },
  PlaceholderWithDefault: { lower: first, dtypes: 'any', note: 'its default, if it is not fed' },
};
