// Small plans for tests. Test time only.
import { PlanBuilder } from '../../../../ts/importers/plan/builder.js';
import type { Plan } from '../../../../ts/importers/plan/generated/plan.js';

/** Fields of many kinds, which are outputs as well. */
export function fieldsPlan(): Plan {
  const builder = new PlanBuilder('pmml', 'Tester 1');
  const age = builder.field({ name: 'age', type: 'double' });
  builder.field({ name: 'when', type: 'date', parseText: true });
  builder.field({ name: 'free', type: 'double', any: true });
  builder.field({ name: 'numbers', type: 'vector', any: true });
  const features = builder.field({ name: 'features', type: 'vector', size: 4 });
  builder.field({ name: 'words', type: 'list', element: 'string' });
  builder.field({ name: 'label', type: 'string', optional: true, about: 'the target' });
  builder.output({ name: 'age', column: age, type: 'double' });
  builder.output({ name: 'features', column: features, type: 'vector', size: 4, extra: true });
  return builder.finish();
}
