// Spark's stages between texts, categories and vectors: indexers, encoders, buckets. Importer's
// worker thread. Source: tabular.md 5.2, 5.3, 10
import { bucketizer } from '../../../plan/ops/numbers.js';
import { indexToString, stringIndexer } from '../../../plan/ops/strings.js';
import { oneHotEncoder } from '../../../plan/ops/vectors.js';
import { integersCell, listCell, textsCell } from '../../read/cells.js';
import { isBefore } from '../../read/metadata.js';
import { need, StageProblem } from '../../read/problem.js';
import { nominal, oneHotSlots } from '../attributes.js';
import { NUMBER, TEXT } from '../frame.js';
import { type Lower, type Stage } from '../stage.js';

const HANDLE_INVALID = ['error', 'skip', 'keep'] as const;

export function handleInvalid(stage: Stage) {
  const invalid = stage.params.choice('handleInvalid', HANDLE_INVALID, 'error');
  if (invalid === 'skip') stage.warn(SKIPS);
  return invalid;
}

/** Source: tabular.md 2.1, X30 */
export const SKIPS = 'Spark drops rows with invalid values; Serval refuses them';

/** Before 3.0 one column and its `labels`, since then `labelsArray`, labels by column. */
async function labelsOf(stage: Stage): Promise<readonly (readonly string[])[]> {
  const table = await stage.folder.table();
  const old = table.find('labels');
  if (old !== undefined) return [textsCell(old[0], 'labels')];
  const cell = table.column(['labelsArray'], 0)[0];
  return listCell(cell, 'labelsArray').map((labels) => textsCell(labels, 'labelsArray'));
}

const lowerStringIndexer: Lower = async (stage) => {
  const pairs = stage.pairs(TEXT);
  const labelsArray = await labelsOf(stage);
  const invalid = handleInvalid(stage);
  for (const [i, { input, output }] of pairs.entries()) {
    const labels = need(labelsArray[i], `the model has no labels for column '${input.name}'`);
    const attributes = nominal(invalid === 'keep' ? [...labels, '__unknown'] : labels);
    stringIndexer(
      stage.plan,
      {
        input: input.column,
        output: stage.output(output, { type: 'double', attributes }),
        labels,
        handleInvalid: invalid,
      },
      stage.place,
    );
  }
};

const lowerIndexToString: Lower = (stage) => {
  const input = stage.input('inputCol', NUMBER);
  const given = stage.params.texts('labels', []);
  const labels = given.length > 0 ? given : input.attributes.scalar?.values;
  indexToString(
    stage.plan,
    {
      input: input.column,
      output: stage.output(stage.params.text('outputCol'), { type: 'string' }),
      labels: need(labels, `the model does not contain the labels of column '${input.name}'`),
    },
    stage.place,
  );
};

/** Spark 2's encoder, which has no model: the column's metadata states the number of categories. */
const lowerOneHotTransformer: Lower = (stage) => {
  if (!isBefore(stage.metadata.sparkVersion, 3, 0)) {
    throw new StageProblem('expected a fitted encoder');
  }
  const input = stage.input('inputCol', NUMBER);
  const { scalar } = input.attributes;
  const labels =
    scalar?.values ??
    (scalar?.count === undefined
      ? undefined
      : Array.from({ length: scalar.count }, (_, i) => String(i)));
  const known = need(
    labels,
    `the model does not contain the number of categories of column '${input.name}' (Spark 2 ` +
      'counts those of the given rows)',
  );
  const dropLast = stage.params.flag('dropLast', true);
  const attributes = oneHotSlots(dropLast ? known.slice(0, -1) : known);
  oneHotEncoder(
    stage.plan,
    {
      input: input.column,
      output: stage.output(stage.params.text('outputCol'), { type: 'vector', attributes }),
      size: known.length,
      dropLast,
      handleInvalid: 'zeros',
    },
    stage.place,
  );
};

const lowerOneHotModel: Lower = async (stage) => {
  const pairs = stage.pairs(NUMBER);
  const table = await stage.folder.table();
  const sizes = integersCell(table.column(['categorySizes'], 0)[0], 'categorySizes');
  const invalid = handleInvalid(stage);
  const dropLast = stage.params.flag('dropLast', true);
  for (const [i, { input, output }] of pairs.entries()) {
    const size = need(sizes[i], `the model has no category size for column '${input.name}'`);
    const known = input.attributes.scalar?.values;
    const labels = Array.from({ length: size }, (_, k) => known?.[k] ?? String(k));
    if (invalid === 'keep') labels.push('invalidValues');
    if (dropLast) labels.pop();
    oneHotEncoder(
      stage.plan,
      {
        input: input.column,
        output: stage.output(output, { type: 'vector', attributes: oneHotSlots(labels) }),
        size,
        dropLast,
        handleInvalid: invalid,
      },
      stage.place,
    );
  }
};

const lowerBucketizer: Lower = (stage) => {
  const pairs = stage.pairs(NUMBER);
  const isOne = pairs.length === 1 && !stage.params.has('splitsArray');
  const all = isOne ? [stage.params.numbers('splits')] : stage.params.numberLists('splitsArray');
  const invalid = handleInvalid(stage);
  for (const [i, { input, output }] of pairs.entries()) {
    const splits = Float64Array.from(
      need(all[i], `the model has no splits for column '${input.name}'`),
    );
    if (splits.length < 3 || splits.some((split, k) => k > 0 && !(split > (splits[k - 1] ?? 0)))) {
      throw new StageProblem(`the splits of column '${input.name}' do not ascend`);
    }
    const attributes = { scalar: { kind: 'nominal', count: splits.length - 1 } } as const;
    bucketizer(
      stage.plan,
      {
        input: input.column,
        output: stage.output(output, { type: 'double', attributes }),
        splits,
        handleInvalid: invalid,
        dropsMissing: invalid === 'skip',
      },
      stage.place,
    );
  }
};

export const STRING_STAGES: Readonly<Record<string, Lower>> = {
  StringIndexerModel: lowerStringIndexer,
  IndexToString: lowerIndexToString,
  OneHotEncoder: lowerOneHotTransformer,
  OneHotEncoderModel: lowerOneHotModel,
  Bucketizer: lowerBucketizer,
};
