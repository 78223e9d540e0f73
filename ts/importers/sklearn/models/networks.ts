// Multilayer perceptrons. Importer's worker thread; pure. Source: scikit-learn's
// neural_network/_multilayer_perceptron.py, preprocessing/_label.py.
import { call, type Column, columnRef } from '../../plan/builder.js';
import type { HiddenFunction } from '../../plan/generated/stages.js';
import { type Frame, vectorOf } from '../frame/frame.js';
import { severalClasses } from '../frame/labels.js';
import {
  derived,
  elementOf,
  greatestIndex,
  linked,
  signIndex,
  twoProbabilities,
} from '../frame/scores.js';
import type { Classified, Estimated, Step } from '../frame/step.js';

const FUNCTIONS: Readonly<Record<string, HiddenFunction>> = {
  identity: 'identity',
  logistic: 'logistic',
  relu: 'rectifier',
  tanh: 'tanh',
};

interface Network {
  /** A Vector of what the last layer's function is applied to. */
  readonly raw: Column;
  readonly outputs: number;
}

/** Errors: RangeError: layers that do not fit each other, another function. */
function addLayers({ item, lowering, place }: Step, frame: Frame): Network {
  const activation = item.get('activation');
  const hidden = FUNCTIONS[activation.text()];
  if (hidden === undefined) {
    const names = Object.keys(FUNCTIONS).join(', ');
    throw activation.bad(`expected one of ${names}, got '${activation.text()}'`);
  }
  const coefs = item.get('coefs_').list();
  const intercepts = item.get('intercepts_').list();
  if (coefs.length < 1 || intercepts.length !== coefs.length) {
    throw item.bad(`${coefs.length} coefs_ and ${intercepts.length} intercepts_: expected as many`);
  }
  const layers = [frame.length];
  const weights = coefs.flatMap((coef, layer) => {
    const { reals, shape } = coef.shapedReals([layers.at(-1) ?? 0, -1]);
    const width = shape[1] ?? 0;
    if (width < 1) throw coef.bad('expected a layer of one neuron or more');
    layers.push(width);
    return [reals, (intercepts[layer] as typeof coef).reals([width])];
  });
  const features = vectorOf(lowering, frame, 'refuse', place);
  const raw = lowering.builder.column('values of the last layer', 'vector');
  const attributes = { layers: Int32Array.from(layers), weights: joined(weights), hidden };
  lowering.builder.stage('perceptron', [features], [raw], attributes, place);
  return { raw, outputs: layers.at(-1) ?? 0 };
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const made = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}

export function perceptronClassifier(step: Step, frame: Frame): Classified {
  const { item, lowering, place } = step;
  const { builder } = lowering;
  const kind = item.get('_label_binarizer').get('y_type_').text();
  if (kind.startsWith('multilabel')) throw item.bad(`labels of the kind ${kind} are not supported`);
  const classes = severalClasses(item);
  const count = classes.values.length;
  const isPair = count === 2;
  const last = item.get('out_activation_');
  const expected = isPair ? 'logistic' : 'softmax';
  if (last.text() !== expected) throw last.bad(`expected ${expected}, got '${last.text()}'`);
  const { raw, outputs } = addLayers(step, frame);
  if (outputs !== (isPair ? 1 : count)) {
    throw item.bad(`coefs_: expected ${isPair ? 1 : count} outputs, got ${outputs}`);
  }
  if (!isPair) {
    const probability = linked(builder, raw, 'softmax', place);
    const index = greatestIndex(builder, probability, place);
    return { role: 'classifier', classes, index, probability };
  }
  const probability = twoProbabilities(builder, elementOf(builder, raw, 0, place), place);
  const second = elementOf(builder, probability, 1, place);
  const index = signIndex(builder, second, place, 'sql.greater', 0.5);
  return { role: 'classifier', classes, index, probability };
}

export function perceptronRegressor(step: Step, frame: Frame): Estimated {
  const { item, lowering, place } = step;
  const last = item.get('out_activation_');
  const name = last.text();
  const { raw, outputs: size } = addLayers(step, frame);
  if (name === 'identity' && size > 1) {
    return { role: 'regressor', values: { column: raw, size, isMatrix: true } };
  }
  const value = elementOf(lowering.builder, raw, 0, place);
  if (name === 'identity') return { role: 'regressor', values: { column: value, size } };
  if (name !== 'exp' || size !== 1) {
    throw last.bad(`'${name}' of ${size} outputs is not supported: expected identity`);
  }
  const column = derived(lowering.builder, 'mean', call('sql.exp', columnRef(value)), place);
  return { role: 'regressor', values: { column, size } };
}
