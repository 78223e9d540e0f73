// Reads what a config.pbtxt of Triton's FIL backend says about its model: the default name of the
// file, and the form of its answers. Control plane; pure. Source: docs/model_config.md and
// src/shared_state.h of Triton's FIL backend.
import { FIL_OUTPUT, type FilAnswer } from '../../../model/booster-answer.js';
import { read } from '../../../protobuf/schema.js';
import type { MessageValue } from '../../../protobuf/schema.js';

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
export const CLASSIFIER_PARAMETERS = ['is_classifier', 'output_class'] as const;

export const FIL_TYPES: readonly string[] = Object.keys(FILES);

export function isFil(config: MessageValue | undefined): boolean {
  return read.text(config, 'backend') === FIL_BACKEND;
}

/** The name of the model's file, unless default_model_filename says another one. */
export function filFile(config: MessageValue): string {
  return FILES[parameter(config, 'model_type')] ?? 'xgboost.model';
}

/** undefined: the configuration is of another backend. It has been checked. */
export function filAnswer(config: MessageValue | undefined): FilAnswer | undefined {
  if (config === undefined || !isFil(config)) return undefined;
  const isTrue = (name: string): boolean => /^(?:1|true)$/i.test(parameter(config, name));
  const hasScores = isTrue('predict_proba');
  const isClassifier = CLASSIFIER_PARAMETERS.some(isTrue);
  const [output] = read
    .children(config, 'output')
    .filter((one) => read.text(one, 'name') === FIL_OUTPUT);
  const threshold = parameter(config, 'threshold');
  return {
    server: 'fil',
    isClass: isClassifier && !hasScores,
    threshold: threshold === '' ? THRESHOLD : Number(threshold),
    // Former versions of FIL answer with both probabilities, newer ones with that of class 1.
    hasBoth: hasScores && output !== undefined && read.ints(output, 'dims')[0] === 2,
  };
}

function parameter(config: MessageValue, name: string): string {
  const found = read.entries(config, 'parameters').find(([key]) => key === name);
  return found === undefined ? '' : read.text(found[1], 'string_value');
}
