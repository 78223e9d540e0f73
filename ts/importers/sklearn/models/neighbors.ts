// Nearest neighbors: all training rows are compared, for any algorithm. Importer's worker thread;
// pure. Source: scikit-learn's neighbors/_base.py, _classification.py, _regression.py.
import type { Column } from '../../plan/builder.js';
import type { NeighborMetric } from '../../plan/generated/stages.js';
import { type Frame, vectorOf } from '../frame/frame.js';
import { severalClasses } from '../frame/labels.js';
import { elementOf, greatestIndex } from '../frame/scores.js';
import type { Classified, Estimated, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';

const METRICS: Readonly<Record<string, NeighborMetric>> = {
  euclidean: 'euclidean',
  l2: 'euclidean',
  manhattan: 'manhattan',
  l1: 'manhattan',
  cityblock: 'manhattan',
  chebyshev: 'chebyshev',
  minkowski: 'minkowski',
};

/** Errors: RangeError: another metric, or one with weights. */
function metricOf(item: Item): { readonly metric: NeighborMetric; readonly p: { real: number } } {
  const given = item.get('effective_metric_');
  const name = given.plain();
  const metric = typeof name === 'string' ? METRICS[name] : undefined;
  if (metric === undefined) {
    const known = Object.keys(METRICS).join(', ');
    const got = typeof name === 'string' ? `'${name}'` : 'a function';
    throw given.bad(`${got} is not supported: expected ${known}`);
  }
  const parameters = item.get('effective_metric_params_').entries();
  const other = [...parameters].find(([key, value]) => key !== 'p' && !value.isNone)?.[0];
  if (other !== undefined) throw given.bad(`the parameter '${other}' is not supported`);
  return { metric, p: { real: parameters.get('p')?.number() ?? 2 } };
}

function isByDistance(item: Item): boolean {
  const given = item.given('weights');
  const name = given === undefined ? 'uniform' : given.plain();
  if (name === 'uniform' || name === 'distance') return name === 'distance';
  throw item.bad("weights: a function is not supported: expected 'uniform' or 'distance'");
}

/** Fills a Vector: the mean of `valuesOf(rows)`, `width` numbers for each training row. */
function addNearest(
  { item, lowering, place }: Step,
  frame: Frame,
  valuesOf: (rows: number) => Float64Array,
): Column {
  const { reals: rows, shape } = item.get('_fit_X').shapedReals([-1, frame.length]);
  const count = shape[0] ?? 0;
  if (count < 1) throw item.bad('_fit_X: expected one row or more');
  const neighbors = item.get('n_neighbors').integer(1);
  if (neighbors > count) {
    throw item.bad(`n_neighbors: expected at most the ${count} rows, got ${neighbors}`);
  }
  const features = vectorOf(lowering, frame, 'refuse', place);
  const column = lowering.builder.column('mean of the neighbors', 'vector');
  const attributes = {
    ...metricOf(item),
    rows,
    values: valuesOf(count),
    count,
    neighbors,
    by_distance: isByDistance(item),
  };
  lowering.builder.stage('nearest_rows', [features], [column], attributes, place);
  return column;
}

export function neighborClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  if (item.find('outputs_2d_')?.flag() === true) {
    throw item.bad('classifiers of several outputs are not supported');
  }
  const classes = severalClasses(item);
  const width = classes.values.length;
  const probability = addNearest(step, frame, (rows) => {
    const labels = item.get('_y').reals([rows]);
    const made = new Float64Array(rows * width);
    labels.forEach((label, row) => {
      if (!(Number.isInteger(label) && label >= 0 && label < width)) {
        throw item.bad(`_y[${row}]: expected a class from 0 to ${width - 1}, got ${label}`);
      }
      made[row * width + label] = 1;
    });
    return made;
  });
  const index = greatestIndex(lowering.builder, probability, place);
  return { role: 'classifier', classes, index, probability };
}

export function neighborRegressor(step: Step, frame: Frame): Estimated {
  const { item, lowering, place } = step;
  const { shape } = item.get('_y').array();
  const size = shape.length === 1 ? 1 : (shape[1] ?? 0);
  if (size < 1) throw item.bad('_y: expected one value or more for each row');
  const column = addNearest(step, frame, (rows) =>
    item.get('_y').reals(shape.length === 1 ? [rows] : [rows, size]),
  );
  if (shape.length > 1) return { role: 'regressor', values: { column, size, isMatrix: true } };
  return {
    role: 'regressor',
    values: { column: elementOf(lowering.builder, column, 0, place), size },
  };
}
