// Spark's stages that turn a vector into a vector of as many values, and a number into a number.
// Importer's worker thread. Source: tabular.md 5.2, 5.3
import { binarizer, imputer } from '../../../plan/ops/numbers.js';
import {
  elementwiseProduct,
  idf,
  maxAbsScaler,
  minMaxScaler,
  normalizer,
  robustScaler,
  standardScaler,
} from '../../../plan/ops/scalers.js';
import { dct } from '../../../plan/ops/vectors.js';
import { numberCell, vectorCell } from '../../read/cells.js';
import { isBefore } from '../../read/metadata.js';
import { need } from '../../read/problem.js';
import { NUMBER, VECTOR } from '../frame.js';
import { type Lower, type Stage } from '../stage.js';

/** Columns of the one row of a model's table, as vectors. */
async function vectors(stage: Stage, names: readonly string[]): Promise<Float64Array[]> {
  const table = await stage.folder.table();
  return names.map((name, i) => vectorCell(table.column([name], i)[0], name));
}

function vectorToVector(stage: Stage, size: number | undefined) {
  const use = size === undefined ? VECTOR : { ...VECTOR, size };
  const input = stage.input('inputCol', use);
  const known = size ?? input.attributes.size;
  const attributes = known === undefined ? {} : { size: known };
  const output = stage.output(stage.params.text('outputCol'), { type: 'vector', attributes });
  return { input: input.column, output };
}

const lowerStandardScaler: Lower = async (stage) => {
  const [std, mean] = (await vectors(stage, ['std', 'mean'])) as [Float64Array, Float64Array];
  const isScaled = stage.params.flag('withStd', true);
  const isCentred = stage.params.flag('withMean', false);
  standardScaler(
    stage.plan,
    {
      ...vectorToVector(stage, std.length),
      ...(isScaled ? { std } : {}),
      ...(isCentred ? { mean } : {}),
    },
    stage.place,
  );
};

const lowerRobustScaler: Lower = async (stage) => {
  const [range, median] = (await vectors(stage, ['range', 'median'])) as [
    Float64Array,
    Float64Array,
  ];
  const isScaled = stage.params.flag('withScaling', true);
  const isCentred = stage.params.flag('withCentering', false);
  robustScaler(
    stage.plan,
    {
      ...vectorToVector(stage, range.length),
      ...(isScaled ? { range } : {}),
      ...(isCentred ? { median } : {}),
    },
    stage.place,
  );
};

const lowerMinMaxScaler: Lower = async (stage) => {
  const [originalMin, originalMax] = (await vectors(stage, ['originalMin', 'originalMax'])) as [
    Float64Array,
    Float64Array,
  ];
  minMaxScaler(
    stage.plan,
    {
      ...vectorToVector(stage, originalMin.length),
      originalMin,
      originalMax,
      min: stage.params.number('min', 0),
      max: stage.params.number('max', 1),
    },
    stage.place,
  );
};

const lowerMaxAbsScaler: Lower = async (stage) => {
  const [maxAbs] = (await vectors(stage, ['maxAbs'])) as [Float64Array];
  const columns = vectorToVector(stage, maxAbs.length);
  maxAbsScaler(stage.plan, { ...columns, maxAbs, clamp: false }, stage.place);
};

const lowerIdf: Lower = async (stage) => {
  const [values] = (await vectors(stage, ['idf'])) as [Float64Array];
  idf(stage.plan, { ...vectorToVector(stage, values.length), idf: values }, stage.place);
};

const lowerElementwiseProduct: Lower = (stage) => {
  const scaling = stage.params.vector('scalingVec');
  elementwiseProduct(
    stage.plan,
    { ...vectorToVector(stage, scaling.length), scaling },
    stage.place,
  );
};

const lowerNormalizer: Lower = (stage) => {
  const p = stage.params.number('p', 2);
  normalizer(stage.plan, { ...vectorToVector(stage, undefined), p }, stage.place);
};

const lowerDct: Lower = (stage) => {
  const inverse = stage.params.flag('inverse', false);
  dct(stage.plan, { ...vectorToVector(stage, undefined), inverse }, stage.place);
};

const lowerBinarizer: Lower = (stage) => {
  const { params } = stage;
  const pairs = stage.pairs(NUMBER);
  const thresholds = params.isSet('thresholds') ? params.numbers('thresholds') : undefined;
  for (const [i, { input, output }] of pairs.entries()) {
    const threshold = thresholds?.[i] ?? params.number('threshold', 0);
    const isVector = input.type === 'vector';
    const { size } = input.attributes;
    const attributes = isVector
      ? size === undefined
        ? {}
        : { size }
      : ({ scalar: { kind: 'binary' } } as const);
    binarizer(
      stage.plan,
      {
        input: input.column,
        output: stage.output(output, { type: isVector ? 'vector' : 'double', attributes }),
        threshold,
        // Spark 2 leaves a missing one missing.
        missingIsZero: !isBefore(stage.metadata.sparkVersion, 3, 0),
      },
      stage.place,
    );
  }
};

const lowerImputer: Lower = async (stage) => {
  const pairs = stage.pairs(NUMBER);
  const table = await stage.folder.table();
  const missingValue = stage.params.number('missingValue', Number.NaN);
  for (const [i, { input, output }] of pairs.entries()) {
    const cell = table.column([input.name], i)[0];
    const { type } = input;
    imputer(
      stage.plan,
      {
        input: input.column,
        output: stage.output(output, { type: type === 'any' ? 'double' : type }),
        surrogate: numberCell(
          need(cell, `the model has no surrogate for '${input.name}'`),
          input.name,
        ),
        missingValue,
      },
      stage.place,
    );
  }
};

export const SCALING_STAGES: Readonly<Record<string, Lower>> = {
  StandardScalerModel: lowerStandardScaler,
  RobustScalerModel: lowerRobustScaler,
  MinMaxScalerModel: lowerMinMaxScaler,
  MaxAbsScalerModel: lowerMaxAbsScaler,
  IDFModel: lowerIdf,
  ElementwiseProduct: lowerElementwiseProduct,
  Normalizer: lowerNormalizer,
  DCT: lowerDct,
  Binarizer: lowerBinarizer,
  ImputerModel: lowerImputer,
};
