// Interpreter kernels for tree ensembles and quantile streams. Importer's worker thread. Source:
// tensorflow/core/kernels/boosted_trees/{resource_ops,quantile_ops}.cc.
import { modelInvalid } from '../../../../base/errors.js';
import type { Tensor } from '../../types.js';
import type { Kernel, KernelCall, Kernels } from '../interpreter.js';
import { resourceId, type SessionState } from '../state.js';
import { integersOf, stringsOf, tensorOf } from '../tensors.js';
import { handleInput, tensorInput, tensorInputs } from './inputs.js';

const make: Kernel = ({ node }) => [{ id: resourceId(node), node }];

const answer = (holds: boolean): Tensor[] => [tensorOf('bool', [], [holds ? 1 : 0])];

/**
 * Whether the resource exists. Errors: ModelInvalid if it was lost because of a failed operation.
 */
function isThere(call: KernelCall, of: (state: SessionState) => ReadonlyMap<string, unknown>) {
  const { id } = handleInput(call, 0);
  const failure = call.session.state.spoiled.get(id);
  if (failure !== undefined) throw modelInvalid(`${failure.op} failed earlier: ${failure.reason}`);
  return of(call.session.state).has(id);
}

const hasTrees = (call: KernelCall): boolean => isThere(call, (state) => state.blobs);
const hasQuantiles = (call: KernelCall): boolean => isThere(call, (state) => state.quantiles);

// Trees: (handle, stamp, bytes) or (handle, bytes). A stamp is a number.
const deserialise: Kernel = (call) => {
  const { id } = handleInput(call, 0);
  const serialised = tensorInputs(call, 1)
    .filter(({ dtype }) => dtype === 'string')
    .flatMap(stringsOf);
  const [blob] = serialised;
  if (blob === undefined || serialised.length !== 1)
    throw modelInvalid('expected one serialised model');
  call.session.state.blobs.set(id, blob);
  call.session.state.spoiled.delete(id);
  return [];
};

// An existing one is kept.
const create: Kernel = (call) => (hasTrees(call) ? [] : deserialise(call));

const NO_BOUNDARIES = tensorOf('float', [0], []);

const createQuantiles: Kernel = (call) => {
  const { id } = handleInput(call, 0);
  const [count = -1, ...more] = integersOf(tensorInput(call, 2));
  if (count < 0 || more.length > 0) throw modelInvalid('expected a number of features');
  call.session.spend(count);
  if (hasQuantiles(call)) return [];
  const boundaries = Array.from({ length: count }, () => NO_BOUNDARIES);
  call.session.state.quantiles.set(id, boundaries);
  return [];
};

const restoreQuantiles: Kernel = (call) => {
  const { id } = handleInput(call, 0);
  const boundaries = tensorInputs(call, 1);
  if (boundaries.some(({ dtype, shape }) => dtype !== 'float' || shape.length !== 1)) {
    throw modelInvalid('boundaries: expected float vectors');
  }
  call.session.state.quantiles.set(id, boundaries);
  call.session.state.spoiled.delete(id);
  return [];
};

export const TREE_KERNELS: Kernels = {
  BoostedTreesEnsembleResourceHandleOp: make,
  BoostedTreesQuantileStreamResourceHandleOp: make,
  DecisionTreeEnsembleResourceHandleOp: make,
  DecisionTreeResourceHandleOp: make,
  BoostedTreesCreateEnsemble: create,
  BoostedTreesDeserializeEnsemble: deserialise,
  CreateTreeEnsembleVariable: create,
  TreeEnsembleDeserialize: deserialise,
  CreateTreeVariable: create,
  TreeDeserialize: deserialise,
  BoostedTreesCreateQuantileStreamResource: createQuantiles,
  BoostedTreesQuantileStreamResourceDeserialize: restoreQuantiles,
  IsBoostedTreesEnsembleInitialized: (call) => answer(hasTrees(call)),
  IsBoostedTreesQuantileStreamResourceInitialized: (call) => answer(hasQuantiles(call)),
};
