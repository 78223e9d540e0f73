// Reads what a config.pbtxt of Triton's FIL backend says about its model: the default name of the
// file, and the form of its answers. Control plane; pure. Source: docs/model_config.md and
// src/shared_state.h of Triton's FIL backend.
import { FIL_OUTPUT, type FilAnswer } from '../../../model/booster-answer.js';
import { read } from '../../../protobuf/schema.js';
import type { MessageValue } from '../../../protobuf/schema.js';
import { bool, isTrue, parameter, type TextRule } from '../parameters.js';

export const FIL_BACKEND = 'fil';
/** Source: "Decision Threshold". */
const THRESHOLD = 0.5;
/** The file of each model_type. */
const FILES: Readonly<Record<string, string>> = {
  xgboost: 'xgboost.model',
  xgboost_json: 'xgboost.json',
  xgboost_ubj: 'xgboost.ubj',
  lightgbm: 'model.txt',
};
/** Names of one parameter, whether the model is a classifier; the second is the former name. */
const CLASSIFIER_PARAMETERS = ['is_classifier', 'output_class'] as const;

const TREELITE = 'treelite_checkpoint';
const FIL_TYPES: readonly string[] = Object.keys(FILES);

/** The format of each parameter. */
export const FIL_PARAMETER_RULES: Readonly<Record<string, TextRule>> = {
  model_type: {
    expected: FIL_TYPES.join(', '),
    fits: (text) => FIL_TYPES.includes(text) || text === TREELITE,
  },
  is_classifier: bool(),
  output_class: bool(),
  predict_proba: bool(),
  threshold: {
    expected: 'a number',
    fits: (text) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text),
  },
};

/** A problem of one parameter; name "": of all together. */
interface FilProblem {
  readonly name: string;
  readonly text: string;
}

/** Contradictions of parameters with the right format: answers differ for classifiers. */
export function filProblems(config: MessageValue): readonly FilProblem[] {
  const problems: FilProblem[] = [];
  if (parameter(config, 'model_type') === TREELITE) {
    const way = 'save the model with its own library, or export it to ONNX';
    const text = `Treelite checkpoints are not supported: ${way}`;
    problems.push({ name: 'model_type', text });
  }
  const [name] = CLASSIFIER_PARAMETERS;
  const [now, before] = CLASSIFIER_PARAMETERS.map((one) => parameter(config, one) || undefined);
  if (now === undefined && before === undefined) {
    problems.push({ name: '', text: `expected ${name}, true or false, got none` });
  } else if (now !== undefined && before !== undefined && isTrue(now) !== isTrue(before)) {
    problems.push({ name, text: 'expected the same as output_class, its former name' });
  }
  return problems;
}

export function isFil(config: MessageValue | undefined): boolean {
  return read.text(config, 'backend') === FIL_BACKEND;
}

/** The name of the model's file, unless default_model_filename says another one. */
export function filFile(config: MessageValue): string {
  return FILES[parameter(config, 'model_type') ?? ''] ?? 'xgboost.model';
}

/** undefined: the configuration is of another backend. It has been checked. */
export function filAnswer(config: MessageValue | undefined): FilAnswer | undefined {
  if (config === undefined || !isFil(config)) return undefined;
  const hasScores = isTrue(parameter(config, 'predict_proba'));
  const isClassifier = CLASSIFIER_PARAMETERS.some((name) => isTrue(parameter(config, name)));
  const [output] = read
    .children(config, 'output')
    .filter((one) => read.text(one, 'name') === FIL_OUTPUT);
  const threshold = parameter(config, 'threshold') ?? '';
  return {
    server: 'fil',
    isClass: isClassifier && !hasScores,
    threshold: threshold === '' ? THRESHOLD : Number(threshold),
    // Former versions of FIL answer with both probabilities, newer ones with that of class 1.
    hasBoth: hasScores && output !== undefined && read.ints(output, 'dims')[0] === 2,
  };
}
