// Ops on numbers and texts of a row. Importer's worker thread.
// Source: tabular.md 4.2, 10
import {
  binarizer,
  bucketizer,
  coalesce,
  type HandleInvalid,
  imputer,
  indexToString,
  MATH_BINARY,
  MATH_UNARY,
  type MathBinary,
  type MathUnary,
  mathBinary,
  mathUnary,
  oneHotEncoder,
  regexIndexer,
  stringIndexer,
  stringMap,
} from '../../plan/ops/index.js';
import { DOUBLE, feature, type Op, type OpNode, STRING, typeOfShape, vectorOf } from '../node.js';

const INVALID: readonly string[] = ['error', 'skip', 'keep'];

function handleInvalid(node: OpNode, fallback: HandleInvalid): HandleInvalid {
  const written = node.attributes.text('handle_invalid', fallback);
  if (INVALID.includes(written)) return written as HandleInvalid;
  node.problem(`handle_invalid '${written}' is not supported`);
  return fallback;
}

function stringIndexers(node: OpNode): void {
  const { attributes } = node;
  const count = attributes.integer('labels_length', -1);
  const labels =
    count < 0
      ? [attributes.texts('labels')]
      : Array.from({ length: count }, (_, i) => attributes.texts(`labels_array_${i}`));
  const inputs = node.numbered('input');
  const outputs = node.numbered('output');
  if (inputs.length !== labels.length || outputs.length !== labels.length) {
    node.problem(
      `expected a list of labels for each of ${inputs.length} inputs, got ${labels.length}`,
    );
    return;
  }
  const invalid = handleInvalid(node, 'error');
  labels.forEach((each, i) => {
    const input = node.frame.input(inputs[i] ?? '', STRING);
    const output = node.outputOf(outputs[i] ?? '', DOUBLE);
    stringIndexer(
      node.builder,
      { input, output, labels: each, handleInvalid: invalid },
      node.place,
    );
  });
}

function reverseStringIndexer(node: OpNode): void {
  const { attributes } = node;
  const isList = attributes.shapes('input_shape')[0]?.base === 'list';
  const input = node.input(isList ? { type: 'list', element: 'double' } : DOUBLE, 'input');
  const output = node.output(isList ? { type: 'list', element: 'string' } : STRING, 'output');
  indexToString(node.builder, { input, output, labels: attributes.texts('labels') }, node.place);
}

/**
 * Old bundles have one `size` and no handle_invalid: MLeap reads them as 'keep', which with
 * drop_last leaves `size` slots.
 */
function oneHotEncoders(node: OpNode): void {
  const { attributes } = node;
  const isOld = attributes.has('size');
  const sizes = isOld ? [attributes.integer('size')] : [...attributes.integers('category_sizes')];
  const dropLast = attributes.flag('drop_last', true);
  const invalid = isOld ? 'keep' : handleInvalid(node, 'error');
  const inputs = node.numbered('input');
  const outputs = node.numbered('output');
  if (inputs.length !== sizes.length || outputs.length !== sizes.length) {
    node.problem(
      `expected a category size for each of ${inputs.length} inputs, got ${sizes.length}`,
    );
    return;
  }
  sizes.forEach((size, i) => {
    const slots = size + (invalid === 'keep' ? 1 : 0) - (dropLast ? 1 : 0);
    const input = node.frame.input(inputs[i] ?? '', DOUBLE);
    const output = node.outputOf(outputs[i] ?? '', vectorOf(slots));
    const op = { input, output, size, dropLast, handleInvalid: invalid };
    oneHotEncoder(node.builder, op, node.place);
  });
}

function lowerBinarizer(node: OpNode): void {
  const { attributes } = node;
  const shape = attributes.shapes('input_shapes')[0] ?? attributes.shapes('input_shape')[0];
  const thresholds = attributes.optionalNumbers('thresholds');
  if (thresholds !== undefined && thresholds.length > 0) {
    node.problem('several thresholds are not supported');
    return;
  }
  const as = typeOfShape(shape);
  const input = node.input(as, 'input');
  const output = node.output(as, 'output');
  const threshold = attributes.number('threshold');
  binarizer(node.builder, { input, output, threshold, missingIsZero: false }, node.place);
}

/** JSON has no infinity: splits at the ends that are not numbers are. */
function lowerBucketizer(node: OpNode): void {
  const splits = Float64Array.from(node.attributes.numbers('splits'));
  const last = splits.length - 1;
  if (Number.isNaN(splits[0])) splits[0] = Number.NEGATIVE_INFINITY;
  if (Number.isNaN(splits[last])) splits[last] = Number.POSITIVE_INFINITY;
  const op = {
    input: node.input(DOUBLE, 'input'),
    output: node.output(DOUBLE, 'output'),
    splits,
    handleInvalid: handleInvalid(node, 'error'),
  };
  bucketizer(node.builder, op, node.place);
}

/** NaN is imputed as well as the missing value. */
function lowerImputer(node: OpNode): void {
  const { attributes, builder, place } = node;
  const input = node.input(DOUBLE, 'input');
  const output = node.output(DOUBLE, 'output');
  const surrogate = attributes.number(
    'surrogate_value',
    attributes.number('imputeValue', Number.NaN),
  );
  if (!attributes.has('surrogate_value') && !attributes.has('imputeValue')) {
    node.problem('it has no surrogate_value');
  }
  const missingValue = attributes.number(
    'missing_value',
    attributes.number('missingValue', Number.NaN),
  );
  if (Number.isNaN(missingValue)) {
    imputer(builder, { input, output, surrogate, missingValue }, place);
    return;
  }
  const filled = builder.column(`${builder.nameOf(output)} without NaN`, 'double');
  imputer(builder, { input, output: filled, surrogate, missingValue: Number.NaN }, place);
  imputer(builder, { input: filled, output, surrogate, missingValue }, place);
}

function lowerCoalesce(node: OpNode): void {
  const inputs = node.numbered('input').map((name) => node.frame.input(name, DOUBLE));
  coalesce(node.builder, { inputs, output: node.output(DOUBLE, 'output') }, node.place);
}

function lowerMathUnary(node: OpNode): void {
  const operation = node.attributes.text('operation');
  if (!(MATH_UNARY as readonly string[]).includes(operation)) {
    node.problem(`the operation '${operation}' is not supported`);
    return;
  }
  const op = {
    input: node.input(DOUBLE, 'input'),
    output: node.output(DOUBLE, 'output'),
    operation: operation as MathUnary,
  };
  mathUnary(node.builder, op, node.place);
}

function lowerMathBinary(node: OpNode): void {
  const { attributes } = node;
  const operation = attributes.text('operation');
  if (!(MATH_BINARY as readonly string[]).includes(operation)) {
    node.problem(`the operation '${operation}' is not supported`);
    return;
  }
  const op = {
    a: node.hasInput('input_a') ? node.input(DOUBLE, 'input_a') : undefined,
    b: node.hasInput('input_b') ? node.input(DOUBLE, 'input_b') : undefined,
    output: node.output(DOUBLE, 'output'),
    operation: operation as MathBinary,
    da: attributes.has('da') ? attributes.number('da') : undefined,
    db: attributes.has('db') ? attributes.number('db') : undefined,
  };
  mathBinary(node.builder, op, node.place);
}

function lowerStringMap(node: OpNode): void {
  const { attributes } = node;
  const op = {
    input: node.input(STRING, 'input'),
    output: node.output(DOUBLE, 'output'),
    labels: attributes.texts('labels'),
    values: attributes.numbers('values'),
    handleInvalid: handleInvalid(node, 'error'),
    defaultValue: attributes.number('default_value', 0),
  };
  stringMap(node.builder, op, node.place);
}

function lowerRegexIndexer(node: OpNode): void {
  const { attributes } = node;
  const op = {
    input: node.input(STRING, 'input'),
    output: node.output({ type: 'int32' }, 'output'),
    regexes: attributes.texts('regexes'),
    indices: attributes.integers('indices'),
    defaultIndex: attributes.has('default_index')
      ? attributes.integer('default_index')
      : attributes.has('default_value')
        ? attributes.integer('default_value')
        : undefined,
  };
  regexIndexer(node.builder, op, node.place);
}

export const SCALAR_OPS: Readonly<Record<string, Op>> = {
  binarizer: feature(lowerBinarizer),
  bucketizer: feature(lowerBucketizer),
  coalesce: feature(lowerCoalesce),
  imputer: feature(lowerImputer),
  math_binary: feature(lowerMathBinary),
  math_unary: feature(lowerMathUnary),
  one_hot_encoder: feature(oneHotEncoders),
  regex_indexer: feature(lowerRegexIndexer),
  reverse_string_indexer: feature(reverseStringIndexer),
  sklearn_binarizer: feature(lowerBinarizer),
  string_indexer: feature(stringIndexers),
  string_map: feature(lowerStringMap),
};
