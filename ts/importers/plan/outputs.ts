// Outputs that several formats have. Importer's worker thread; pure.
import { call, type Expression, type PlanBuilder } from './builder.js';
import type { Type } from './generated/plan.js';

/** The result of the library's own predict(). */
export const PREDICT = 'predict';
/** The sums of the trees. */
export const MARGIN = 'margin';
/** The class, for classifiers. */
export const LABEL = 'label';

/**
 * Adds an output of one value for each row, or of a list of them. `extra`: it is only returned on
 * request.
 */
export function addOutput(
  builder: PlanBuilder,
  name: string,
  type: Type,
  values: readonly Expression[],
  { place, extra = false }: { readonly place: string; readonly extra?: boolean },
): void {
  const shown = extra ? { extra } : {};
  const [value, second] = values;
  if (value !== undefined && second === undefined) {
    const column = builder.derive(name, type, value, place);
    builder.output({ name, column, type, ...shown });
    return;
  }
  addMatrix(builder, name, type, values, { place, extra });
}

/** Same as addOutput(), but a list for one value too: the response is a matrix. */
export function addMatrix(
  builder: PlanBuilder,
  name: string,
  type: Type,
  values: readonly Expression[],
  { place, extra = false }: { readonly place: string; readonly extra?: boolean },
): void {
  const shown = extra ? { extra } : {};
  const column = builder.derive(name, 'list', call('sql.array', ...values), place, type);
  builder.output({ name, column, type: 'list', element: type, size: values.length, ...shown });
}
