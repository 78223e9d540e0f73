// A model of CatBoost, whichever form its file has. Importer's worker thread; pure.
// Source: CatBoost's catboost/libs/model: model.h, model.cpp (CalcBinFeatures,
// GetModelClassLabels), flatbuffers/features.fbs.
import { optional } from '../../plan/xgboost/members.js';
import type { Ctr } from './ctrs.js';
import type { GrownTrees } from './trees.js';

/** A feature of numbers; `flat`: its position among all features. */
export interface FloatFeature {
  /** Its position among the features of numbers. */
  readonly index: number;
  readonly flat: number;
  readonly name: string;
  /** Ascending floats. A value above a border passes its split. */
  readonly borders: ArrayLike<number>;
  /** A missing value passes all splits; otherwise none. */
  readonly passesMissing: boolean;
}

/** A feature of texts. `index`: its position among the features of texts. */
export interface CategoricalFeature {
  readonly index: number;
  readonly flat: number;
  readonly name: string;
}

/** The splits of a feature of texts: each passes the text of one hash. */
export interface OneHot {
  readonly index: number;
  readonly hashes: ArrayLike<number>;
  /** The texts, if the file has them. */
  readonly texts: readonly string[];
}

/** The facts of a file's "model info": texts or, in JSON, parsed documents. */
export type ModelInfo = ReadonlyMap<string, unknown>;

export interface CatboostModel {
  readonly floats: readonly FloatFeature[];
  readonly categoricals: readonly CategoricalFeature[];
  readonly oneHots: readonly OneHot[];
  readonly ctrs: readonly Ctr[];
  /** Texts by their hashes, for CTRs. */
  readonly words: ReadonlyMap<number, string>;
  readonly trees: GrownTrees;
  /** Leaf i has the values from i * width to (i + 1) * width. */
  readonly leaves: Float64Array;
  readonly width: number;
  /** By leaf: the weight of its training rows; absent: the file has none. */
  readonly covers?: Float64Array;
  /** A score is the sum of the trees times the scale, plus its bias. */
  readonly scale: number;
  readonly bias: readonly number[];
  readonly info: ModelInfo;
}

/** The features in the order of their splits, which trees name by their position. */
export type SplitFeatures = Pick<CatboostModel, 'floats' | 'oneHots' | 'ctrs'>;

export function splitCount({ floats, oneHots, ctrs }: SplitFeatures): number {
  const borders = [...floats, ...ctrs].reduce((sum, feature) => sum + feature.borders.length, 0);
  return oneHots.reduce((sum, feature) => sum + feature.hashes.length, borders);
}

/** Errors: RangeError: the feature's borders are not ascending numbers, or it has no place. */
export function checkFloat(feature: FloatFeature): FloatFeature {
  const { borders, name } = feature;
  checkFlat(feature.flat, name);
  for (let i = 0; i < borders.length; i += 1) {
    const border = borders[i] ?? Number.NaN;
    const isAfter = i === 0 || border >= (borders[i - 1] ?? Number.NaN);
    if (Number.isFinite(border) && isAfter) continue;
    throw new RangeError(`feature '${name}': border ${i} is ${border}, expected ascending numbers`);
  }
  return feature;
}

/** Errors: RangeError: the feature's position is no count. */
export function checkFlat(flat: number, name: string): void {
  if (Number.isInteger(flat) && flat >= 0) return;
  throw new RangeError(`feature '${name}': expected a position from 0, got ${flat}`);
}

/** Errors: RangeError: a hash occurs twice, or the texts are not as many as the hashes. */
export function checkOneHot(oneHot: OneHot): OneHot {
  const { hashes, texts, index } = oneHot;
  const place = `categorical feature ${index}`;
  if (new Set(Array.from(hashes)).size !== hashes.length) {
    throw new RangeError(`${place}: two splits have the same value`);
  }
  if (texts.length !== 0 && texts.length !== hashes.length) {
    throw new RangeError(`${place}: expected ${hashes.length} values, got ${texts.length}`);
  }
  return oneHot;
}

/** Errors: RangeError: a value is NaN, or the values are not those of whole leaves. */
export function checkLeaves(leaves: Float64Array, width: number): Float64Array {
  if (!Number.isInteger(width) || width < 1 || width > Math.max(1, leaves.length)) {
    throw new RangeError(`expected leaves of 1 or more values, got ${width}`);
  }
  if (leaves.length % width !== 0) {
    throw new RangeError(`${leaves.length} values are not leaves of ${width} values each`);
  }
  const wrong = leaves.findIndex(Number.isNaN);
  if (wrong < 0) return leaves;
  throw new RangeError(`leaf ${Math.floor(wrong / width)}: its value is not a number`);
}

/** A bias for each score. Errors: RangeError: not this number of them, or not finite. */
export function checkScale(scale: number, bias: readonly number[], width: number): void {
  if (bias.length !== width) {
    throw new RangeError(`bias: expected ${width} numbers, got ${bias.length}`);
  }
  const wrong = [scale, ...bias].find((one) => !Number.isFinite(one));
  if (wrong !== undefined) throw new RangeError(`scale and bias: ${wrong} is not a finite number`);
}

/** A binary file has categories by their hashes only. `features`: their positions among texts. */
export function refuseHashes(
  features: Iterable<number>,
  categoricals: readonly CategoricalFeature[],
): never {
  const names = [...new Set(features)].map((index) => {
    const found = categoricals.find((feature) => feature.index === index);
    return `'${found?.name ?? index}'`;
  });
  throw new RangeError(
    `feature ${names.join(', ')}: the file has only hashes of its categories, not their texts; ` +
      "save the model with them: model.save_model(NAME, format='json', pool=...)",
  );
}

export function refuseFeature(kind: 'text' | 'embedding', name: string): never {
  throw new RangeError(
    `the ${kind} feature '${name}' is not supported; train without it, or compute numbers from it ` +
      'before training',
  );
}

/** A fact whose value is a document; undefined: there is none. Errors: RangeError: not JSON. */
export function documentOf(info: ModelInfo, name: string): unknown {
  const found = info.get(name);
  if (typeof found !== 'string' || found === '') return found === '' ? undefined : found;
  try {
    return JSON.parse(found) as unknown;
  } catch {
    throw new RangeError(`${name}: expected JSON, got '${found.slice(0, 40)}'`);
  }
}

/** "Logloss"; "": the file does not say. */
export function lossOf(info: ModelInfo): string {
  const trained = optional(documentOf(info, 'params'), 'loss_function');
  const loss = trained ?? documentOf(info, 'loss_function');
  const type = optional(loss, 'type') ?? loss;
  return typeof type === 'string' ? (type.split(':')[0] ?? '') : '';
}

/** The labels of classes, in their order; undefined: classes are numbers from 0. */
export function labelsOf(info: ModelInfo): readonly unknown[] | undefined {
  const classes = documentOf(info, 'class_params') ?? documentOf(info, 'multiclass_params');
  const names = optional(classes, 'class_names');
  if (Array.isArray(names) && names.length > 0) return names;
  const count = optional(classes, 'classes_count');
  if (typeof count === 'number' && count > 0) return undefined;
  const labels = optional(classes, 'class_to_label');
  return Array.isArray(labels) && labels.length > 0 ? labels.map(Number) : undefined;
}
