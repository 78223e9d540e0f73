// The baseline hazards of a Cox regression, as attributes of pmml.general_regression. Importer's
// worker thread. Source: tabular.md 3.2
import type { Value } from '../../plan/generated/plan.js';
import type { ModelContext } from '../context.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { type InputList, Rows, needed, real } from './reading.js';

/** Attributes of the stage. */
export interface Baselines {
  readonly reference: { readonly real: number };
  readonly time_input: number;
  readonly stratum_input: number | undefined;
  readonly baseline_strata: { readonly values: readonly Value[] } | undefined;
  readonly baseline_rows: Int32Array;
  readonly baseline_times: Float64Array;
  readonly baseline_hazards: Float64Array;
  readonly baseline_max_times: Float64Array;
}

/** The reference of the sums: the parameters at their reference points. */
function reference(model: XmlElement, context: ModelContext, cells: readonly XmlElement[]): number {
  const list = child(model, 'ParameterList');
  const points = new Map<string, number>();
  for (const parameter of list === undefined ? [] : children(list, 'Parameter')) {
    const point = real(context, parameter, 'referencePoint', 0);
    points.set(needed(context, parameter, 'name'), point);
  }
  let sum = 0;
  for (const cell of cells) {
    const name = needed(context, cell, 'parameterName');
    const point = points.get(name);
    if (point === undefined) {
      context.problems.add(context.place(cell), `parameter '${name}' is not in the ParameterList`);
    }
    sum += real(context, cell, 'beta') * (point ?? 0);
  }
  return sum;
}

/** The tables of one regression: one for all rows, or one by stratum. */
export function baselines(
  model: XmlElement,
  table: XmlElement,
  context: ModelContext,
  inputs: InputList,
  cells: readonly XmlElement[],
): Baselines {
  const strata = model.attributes['baselineStrataVariable'];
  const tables = strata === undefined ? [table] : children(table, 'BaselineStratum');
  if (tables.length === 0) {
    context.problems.add(context.place(table), 'has no BaselineStratum');
  }
  const rows = new Rows();
  const times: number[] = [];
  const hazards: number[] = [];
  const most: number[] = [];
  const values: Value[] = [];
  let stratumInput: number | undefined;
  for (const each of tables) {
    const found = children(each, 'BaselineCell').map((cell) => ({
      time: real(context, cell, 'time'),
      hazard: real(context, cell, 'cumHazard'),
    }));
    if (found.length === 0) context.problems.add(context.place(each), 'has no BaselineCell');
    found.sort((a, b) => a.time - b.time);
    for (const { time, hazard } of found) {
      times.push(time);
      hazards.push(hazard);
    }
    rows.add(found.length);
    most.push(real(context, each, 'maxTime'));
    if (strata === undefined) continue;
    const { input, value } = inputs.category(strata, needed(context, each, 'value'), each);
    stratumInput = input;
    values.push(value);
  }
  const time = needed(context, model, 'endTimeVariable');
  return {
    reference: { real: reference(model, context, cells) },
    time_input: time === '' ? 0 : inputs.number(time, model),
    stratum_input: stratumInput,
    baseline_strata: strata === undefined ? undefined : { values },
    baseline_rows: rows.starts,
    baseline_times: Float64Array.from(times),
    baseline_hazards: Float64Array.from(hazards),
    baseline_max_times: Float64Array.from(most),
  };
}
