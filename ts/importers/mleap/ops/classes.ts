// Classifiers. Each is lowered from its model and the column of its features alone, so that
// one_vs_rest can have them too. Importer's worker thread.
// Source: tabular.md 4.2, 10
import type { Column } from '../../plan/builder.js';
import * as ops from '../../plan/ops/index.js';
import { type AnyExplanation, linearSums } from '../../plan/explain.js';
import type { FoundModel } from '../bundle/reader.js';
import { DOUBLE, type Op, type OpNode, prediction, vectorOf } from '../node.js';
import { addTrees, explained, treesOf } from './trees.js';

/** The parts of one classifier and the outputs that are wanted. */
interface Classifier extends ops.ClassifierOutputs {
  readonly node: OpNode;
  readonly model: FoundModel;
  readonly features: Column;
}

type Explained = AnyExplanation | undefined;

interface ClassifierOp {
  /** The number of features that the model states; undefined: none. */
  readonly numFeatures: (model: FoundModel) => number | undefined;
  readonly numClasses: (model: FoundModel) => number;
  /** Returns how its scores are explained, if they are. */
  readonly lower: (one: Classifier) => Explained | Promise<Explained>;
}

const stated = ({ attributes }: FoundModel): number | undefined =>
  attributes.has('num_features') ? attributes.integer('num_features') : undefined;
const coefficients = ({ attributes }: FoundModel): number | undefined =>
  attributes.optionalNumbers('coefficients')?.length;
const classes = ({ attributes }: FoundModel): number => attributes.integer('num_classes', 2);

/** MLeap's rule for a threshold of 0. */
function thresholdsOf({ attributes }: FoundModel) {
  const thresholds = attributes.optionalNumbers('thresholds');
  if (thresholds === undefined || thresholds.length === 0) return {};
  return { thresholds, zeroThreshold: 'infinity' } as const;
}

function logisticRegression({ node, model, ...columns }: Classifier): Explained {
  const { attributes } = model;
  const { builder, place } = node;
  if (attributes.integer('num_classes') > 2) {
    const { values } = attributes.matrixRows('coefficient_matrix');
    const intercepts = attributes.numbers('intercept_vector');
    const op = { ...columns, coefficients: values, intercepts, multinomial: true };
    ops.logisticRegression(builder, { ...op, ...thresholdsOf(model) }, place);
    return linearSums(columns.features, values, intercepts, false);
  }
  const op = {
    ...columns,
    coefficients: attributes.numbers('coefficients'),
    intercepts: Float64Array.of(attributes.number('intercept')),
    multinomial: false,
    threshold: attributes.number('threshold', 0.5),
    separateSigmoids: true,
  };
  ops.logisticRegression(builder, op, place);
  return linearSums(columns.features, op.coefficients, op.intercepts, true);
}

function linearSvc({ node, model, probability, ...columns }: Classifier): Explained {
  const { attributes } = model;
  if (probability !== undefined) node.problem('it returns no probability');
  const op = {
    ...columns,
    coefficients: attributes.numbers('coefficients'),
    intercept: attributes.number('intercept'),
    threshold: attributes.number('threshold', 0.5),
  };
  ops.linearSvc(node.builder, op, node.place);
  const intercepts = Float64Array.of(op.intercept);
  return linearSums(columns.features, op.coefficients, intercepts, true);
}

/** Its scores are its probabilities. */
function supportVectorMachine({ node, model, features, ...outputs }: Classifier): Explained {
  const { attributes } = model;
  const { builder, place } = node;
  const raw = outputs.raw ?? builder.column('scores', 'vector');
  const scores = {
    features,
    scores: raw,
    coefficients: attributes.numbers('coefficients'),
    intercepts: Float64Array.of(attributes.number('intercept')),
    mirror: true,
  };
  ops.linearScores(builder, scores, place);
  ops.classify(builder, { ...outputs, raw, link: 'none', ...thresholdsOf(model) }, place);
  return linearSums(features, scores.coefficients, scores.intercepts, true);
}

function naiveBayes({ node, model, ...columns }: Classifier): undefined {
  const { attributes } = model;
  const modelType = attributes.text('model_type', 'multinomial').toLowerCase();
  if (modelType !== 'multinomial' && modelType !== 'bernoulli') {
    node.problem(`the model type '${modelType}' is not supported`);
    return;
  }
  const op = {
    ...columns,
    modelType,
    pi: attributes.numbers('pi'),
    theta: attributes.matrixRows('theta').values,
    anyFeatures: true,
    ...thresholdsOf(model),
  } as const;
  ops.naiveBayes(node.builder, op, node.place);
}

function perceptron({ node, model, ...columns }: Classifier): undefined {
  const { attributes } = model;
  const op = {
    ...columns,
    layers: attributes.integers('layers'),
    weights: attributes.numbers('weights'),
    thresholds: attributes.optionalNumbers('thresholds'),
  };
  ops.multilayerPerceptron(node.builder, op, node.place);
}

/** From the leaves' sums to classes. */
async function ofTrees(
  { node, model, features, ...outputs }: Classifier,
  width: number,
  leafOf: (values: readonly number[]) => readonly number[],
  link: ops.Link,
): Promise<Explained> {
  const { builder, place } = node;
  const { trees, weights } = await treesOf(node.bundle, model, width, leafOf);
  const raw = outputs.raw ?? builder.column('votes', 'vector');
  const isBoosted = link === 'gbt';
  const given = isBoosted && weights !== undefined ? { weights } : {};
  const size = stated(model);
  const forest = addTrees(builder, { trees, features, values: raw, ...given }, size, place);
  const zero = isBoosted ? { rawThreshold: 0 } : {};
  const decision = thresholdsOf(model);
  const rule = 'thresholds' in decision ? decision : zero;
  ops.classify(builder, { ...outputs, raw, link, ...rule }, place);
  return explained(forest, size, isBoosted ? 1 : 1 / trees.roots.length);
}

/** A tree whose leaves have counts: their shares are explained, as by shap. */
async function ofTree(one: Classifier): Promise<Explained> {
  const { node, model, features } = one;
  const width = classes(model);
  await ofTrees(one, width, (counts) => counts, 'normalize');
  const { trees } = await treesOf(node.bundle, model, width, shares);
  const values = node.builder.column('shares', 'vector');
  const size = stated(model);
  const op = { trees, features, values, explained: true };
  return explained(addTrees(node.builder, op, size, node.place), size);
}

function shares(counts: readonly number[]): readonly number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total === 0 ? counts : counts.map((count) => count / total);
}

function boosted(one: Classifier): Promise<Explained> {
  const { attributes } = one.model;
  const loss = attributes.text('lossType', 'logistic');
  if (loss !== 'logistic') one.node.problem(`the loss '${loss}' is not supported`);
  return ofTrees(one, 2, ([margin = Number.NaN]) => [-margin, margin], 'gbt');
}

const PROBABILISTIC: Readonly<Record<string, ClassifierOp>> = {
  decision_tree_classifier: {
    numFeatures: stated,
    numClasses: classes,
    lower: ofTree,
  },
  gbt_classifier: { numFeatures: stated, numClasses: () => 2, lower: boosted },
  linear_svc: { numFeatures: coefficients, numClasses: () => 2, lower: linearSvc },
  logistic_regression: {
    numFeatures: (model) =>
      classes(model) > 2
        ? model.attributes.matrix('coefficient_matrix').columns
        : coefficients(model),
    numClasses: classes,
    lower: logisticRegression,
  },
  multi_layer_perceptron_classifier: {
    numFeatures: ({ attributes }) => attributes.integers('layers')[0],
    numClasses: ({ attributes }) => attributes.integers('layers').at(-1) ?? 0,
    lower: perceptron,
  },
  naive_bayes: { numFeatures: stated, numClasses: classes, lower: naiveBayes },
  random_forest_classifier: {
    numFeatures: stated,
    numClasses: classes,
    lower: (one) => ofTrees(one, classes(one.model), shares, 'normalize'),
  },
  support_vector_machine: {
    numFeatures: coefficients,
    numClasses: () => 2,
    lower: supportVectorMachine,
  },
};

async function lowerClassifier(node: OpNode, op: ClassifierOp): Promise<void> {
  const { found: model } = node;
  const size = vectorOf(op.numClasses(model));
  const features = node.input(vectorOf(op.numFeatures(model)), 'features');
  const columns = {
    prediction: node.optionalOutput(DOUBLE, 'prediction'),
    probability: node.optionalOutput(size, 'probability'),
    raw: node.optionalOutput(size, 'raw_prediction', 'rawPrediction'),
  };
  const explanation = await op.lower({ node, model, features, ...columns });
  if (explanation !== undefined) node.frame.explains(explanation);
}

/** The class whose model assigns the greatest probability to its 1. */
async function oneVsRest(node: OpNode): Promise<void> {
  const { builder, bundle, attributes, found, place } = node;
  const count = attributes.integer('num_classes');
  const models: FoundModel[] = [];
  for (let i = 0; i < count; i += 1) models.push(await bundle.model(`${found.folder}/model${i}`));
  const sizes = models.map((model) => PROBABILISTIC[model.op]?.numFeatures(model));
  const features = node.input(vectorOf(stated(found) ?? sizes[0]), 'features');
  const raws: Column[] = [];
  for (const [i, model] of models.entries()) {
    const op = PROBABILISTIC[model.op];
    if (op === undefined) {
      node.problem(`its model ${i} is '${model.op}', which is not supported in this op`);
      return;
    }
    const probability = builder.column(`probability of class ${i}`, 'vector');
    await op.lower({ node, model, features, probability });
    raws.push(probability);
  }
  const outputs = {
    prediction: node.output(DOUBLE, 'prediction'),
    best: node.optionalOutput(DOUBLE, 'probability'),
    raw: node.optionalOutput(vectorOf(count), 'raw_prediction'),
  };
  ops.oneVsRest(builder, { raws, ...outputs }, place);
}

export const CLASS_OPS: Readonly<Record<string, Op>> = {
  one_vs_rest: prediction(oneVsRest),
  ...Object.fromEntries(
    Object.entries(PROBABILISTIC).map(([name, op]) => [
      name,
      prediction((node) => lowerClassifier(node, op)),
    ]),
  ),
};
