// How a YDF model makes its predictions from the sums of its trees. Importer's worker thread; pure.
// Source: YDF's serving/decision_forest/decision_forest_serving.cc (Activation...),
// model/isolation_forest/isolation_forest.cc.
import { LOSS, TASK } from '../../protobuf/generated/yggdrasil-fields.js';
import type { Ensemble } from './ensemble.js';

/** YDF's bounds of the logarithm of a Poisson prediction. */
export const POISSON_MAX = 19;

/** `share`: from 0 to 1; `exponential`: of a sum within POISSON_MAX. */
export type Link = 'none' | 'share' | 'anomaly' | 'sigmoid' | 'softmax' | 'exponential';

/** Losses whose predictions are the sums. */
const SUMS: ReadonlySet<number> = new Set([
  ...[LOSS.SQUARED_ERROR, LOSS.MEAN_AVERAGE_ERROR],
  ...[LOSS.LAMBDA_MART_NDCG5, LOSS.LAMBDA_MART_NDCG, LOSS.XE_NDCG_MART],
]);
const LOGISTIC: ReadonlySet<number> = new Set([
  ...[LOSS.BINOMIAL_LOG_LIKELIHOOD, LOSS.BINARY_FOCAL_LOSS],
]);

/** Errors: RangeError: the loss is not supported. */
export function linkOf({ header, trees }: Ensemble): Link {
  if (header.name === 'RANDOM_FOREST') {
    return header.task === TASK.CLASSIFICATION ? 'share' : 'none';
  }
  if (header.name === 'ISOLATION_FOREST') return 'anomaly';
  const { loss } = trees;
  const isKnown =
    SUMS.has(loss) ||
    LOGISTIC.has(loss) ||
    loss === LOSS.POISSON ||
    loss === LOSS.MULTINOMIAL_LOG_LIKELIHOOD;
  if (!isKnown) {
    const [name = String(loss)] = Object.entries(LOSS).find(([, one]) => one === loss) ?? [];
    throw new RangeError(`the loss ${name} is not supported`);
  }
  if (trees.outputsLogits || SUMS.has(loss)) return 'none';
  if (LOGISTIC.has(loss)) return 'sigmoid';
  return loss === LOSS.POISSON ? 'exponential' : 'softmax';
}
