// Every row of the table, in its order.
import { selectByWords } from '../options.mjs';
import { batching } from './batching/index.mjs';
import { operation } from './control/index.mjs';
import { flood } from './flood.mjs';
import { frontDoor } from './front-door/index.mjs';
import { grpc } from './grpc/index.mjs';
import { http } from './http/index.mjs';
import { isolation } from './isolation.mjs';
import { jsonSmall } from './json-small.mjs';
import { large } from './large.mjs';
import { mlp } from './mlp.mjs';
import { startup } from './startup.mjs';
import { tabular } from './tabular/index.mjs';
import { tensorflow } from './tensorflow/index.mjs';

export const workloads = [
  ...jsonSmall,
  ...http,
  ...grpc,
  ...frontDoor,
  ...large,
  ...mlp,
  ...startup,
  ...batching,
  ...operation,
  ...isolation,
  ...flood,
  ...tensorflow,
  ...tabular,
];

/**
 * The workloads that the words of `only` select by their id, or the name of another group; all of
 * them without it.
 */
export function selectWorkloads(only) {
  const chosen = selectByWords(workloads, only, ({ id, group = '' }) => [id, group]);
  if (chosen.length === 0) {
    const ids = workloads.map(({ id }) => id).join(', ');
    throw new Error(`--only ${only} matches no workload; they are: ${ids}`);
  }
  return chosen;
}
