// Stacking: a model of what other models predict. Importer's worker thread; pure. Source:
// scikit-learn's ensemble/_stacking.py.
import type { Element, Frame } from '../frame/frame.js';
import { columnElement, elementsOf } from '../frame/frame.js';
import { labelsOf } from '../frame/labels.js';
import type { Classified, Estimated, Result, Scores, Step } from '../frame/step.js';
import type { Item } from '../read/item.js';
import { memberPlace, membersOf, partPlace } from './members.js';

/** The elements of scores. */
const elements = ({ column, size }: Scores, isVector: boolean): Frame =>
  isVector ? elementsOf(column, size) : [columnElement(column)];

/** The frame that the final model reads. `isPair`: the ensemble has two classes. */
function predictions(step: Step, frame: Frame, isPair: boolean): Frame {
  const { item, lowering } = step;
  const { builder } = lowering;
  const members = membersOf(step);
  const methods = item.get('stack_method_').list();
  if (methods.length !== members.length) {
    throw item.bad(`stack_method_: expected ${members.length} names, got ${methods.length}`);
  }
  const made = members.flatMap((member, i): readonly Element[] => {
    const method = methods[i]?.text() ?? '';
    const result = lowering.lower(member, frame, memberPlace(step, i));
    const scores = scoresOf(result, method);
    if (scores === undefined) {
      throw member.bad(`${method}() of ${member.className} is not supported in a stack`);
    }
    const all = elements(scores, builder.typeOf(scores.column) === 'vector');
    return method === 'predict_proba' && isPair ? all.slice(1) : all;
  });
  return item.get('passthrough').flag() ? [...made, ...frame] : made;
}

/** undefined: the model does not have the method, or labels instead of numbers. */
function scoresOf(result: Result, method: string): Scores | undefined {
  if (result.role === 'regressor') return method === 'predict' ? result.values : undefined;
  if (result.role !== 'classifier') return undefined;
  const { classes, probability, decision, index } = result;
  if (method === 'predict_proba' && probability !== undefined) {
    return { column: probability, size: classes.values.length };
  }
  if (method === 'decision_function') return decision;
  // Members are fitted on the classes' numbers.
  const areNumbers = classes.values.every((value, i) => value === i);
  return method === 'predict' && areNumbers ? { column: index, size: 1 } : undefined;
}

const finalOf = (step: Step, frame: Frame): { readonly item: Item; readonly result: Result } => {
  const item = step.item.get('final_estimator_');
  return { item, result: step.lowering.lower(item, frame, partPlace(step, 'final_estimator_')) };
};

export function stackingClassifier(step: Step, frame: Frame): Classified {
  const encoder = step.item.get('_label_encoder');
  if (encoder.isList) throw encoder.bad('classifiers of several outputs are not supported');
  const classes = labelsOf(encoder.get('classes_'));
  const meta = predictions(step, frame, classes.values.length === 2);
  const { item, result } = finalOf(step, meta);
  if (result.role !== 'classifier' || result.classes.values.length !== classes.values.length) {
    throw item.bad(`expected a classifier of ${classes.values.length} classes`);
  }
  const { explained: _, ...rest } = result;
  return { ...rest, classes };
}

export function stackingRegressor(step: Step, frame: Frame): Estimated {
  const { item, result } = finalOf(step, predictions(step, frame, false));
  if (result.role !== 'regressor') throw item.bad('expected a regressor');
  return { role: 'regressor', values: result.values };
}
