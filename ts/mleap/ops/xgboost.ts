// XGBoost's boosters inside of bundles. Their features, thresholds and sums are floats. Importer's
// worker thread.
// Source: tabular.md 4.2, 7 (float)
import { call, type Column, columnRef, constant, type Expression } from '../../tabular/builder.js';
import { addForest, TreeMissing, TreeTest } from '../../tabular/forest.js';
import { vectorAssembler } from '../../tabular/ops/index.js';
import { DOUBLE, type Op, type OpNode, prediction, vectorOf } from '../node.js';
import { bundleInvalid } from '../bundle/values.js';
import { type Booster, type BoosterTree, readBooster } from '../xgboost/booster.js';

const FILE = 'xgboost.model';

async function boosterOf(node: OpNode): Promise<Booster> {
  const file = `${node.found.folder}/${FILE}`;
  const booster = readBooster(await node.bundle.read(file), file);
  const limit = node.attributes.integer('tree_limit', 0);
  if (limit > 0 && limit < booster.trees.length) {
    node.problem(`a tree_limit of ${limit} of ${booster.trees.length} trees is not supported`);
  }
  for (const port of ['leaf_prediction', 'contrib_prediction']) {
    if (node.outputs.some((socket) => socket.port === port)) {
      node.problem(`the output '${port}' is not supported`);
    }
  }
  return booster;
}

/** All trees, their leaves `width` values of which the tree's own class has one. */
function forestOf(booster: Booster, width: number) {
  const feature: number[] = [];
  const threshold: number[] = [];
  const left: number[] = [];
  const right: number[] = [];
  const missing: number[] = [];
  const roots: number[] = [];
  const leaves: number[] = [];
  const addTree = (tree: BoosterTree, group: number): void => {
    // By its number in the file: the number in the forest, below 0 for leaves.
    const numbers = new Map<number, number>();
    const waiting = [0];
    const order: number[] = [];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const [l = -1, r = -1] = [tree.left[at], tree.right[at]];
      if (numbers.has(at) || at >= tree.left.length || l < 0 !== r < 0) {
        throw bundleInvalid(`${FILE}: node ${at} of a tree is not of one tree`);
      }
      if (l < 0) {
        const values = new Array<number>(width).fill(0);
        values[group] = tree.value[at] ?? 0;
        leaves.push(...values);
        numbers.set(at, ~(leaves.length / width - 1));
        continue;
      }
      numbers.set(at, feature.length);
      order.push(at);
      feature.push(tree.feature[at] ?? 0);
      threshold.push(tree.value[at] ?? 0);
      missing.push((tree.defaultLeft[at] ?? 0) !== 0 ? TreeMissing.Left : TreeMissing.Right);
      left.push(0);
      right.push(0);
      waiting.push(r, l);
    }
    for (const at of order) {
      const number = numbers.get(at) ?? 0;
      left[number] = numbers.get(tree.left[at] ?? 0) ?? 0;
      right[number] = numbers.get(tree.right[at] ?? 0) ?? 0;
    }
    roots.push(numbers.get(0) ?? 0);
  };
  booster.trees.forEach((tree, i) => addTree(tree, booster.groups[i] ?? 0));
  return {
    nodes: {
      feature: Int32Array.from(feature),
      threshold: Float64Array.from(threshold),
      left: Int32Array.from(left),
      right: Int32Array.from(right),
      test: new Uint8Array(feature.length).fill(TreeTest.Less),
      missing: Uint8Array.from(missing),
    },
    roots: Int32Array.from(roots),
    leaves: Float64Array.from(leaves),
  };
}

/** The scores before the objective's own function: floats. */
function addScores(
  node: OpNode,
  booster: Booster,
  base: number,
  width: number,
  values: Column,
): void {
  const size = node.attributes.integer('num_features', -1);
  const vector = node.input(vectorOf(size), 'features');
  const options = {
    features: size < 0 ? { vector } : { vector, size },
    ...forestOf(booster, width),
    width,
    base: new Float64Array(width).fill(Math.fround(base)),
    roundToFloat: true,
    floatSums: true,
    values,
    ...(booster.weights === undefined ? {} : { weights: Float64Array.from(booster.weights) }),
  };
  addForest(node.builder, options, node.place);
}

const float = (value: number): Expression => constant({ type: 'float', real: Math.fround(value) });
const cast = (of: Expression, type: string): Expression => call('sql.cast', of, constant(type));
const expFloat = (of: Expression): Expression => cast(call('sql.exp', cast(of, 'double')), 'float');

/** 1 / (1 + e^-x) in floats, as XGBoost computes it. */
function sigmoid(score: Expression): Expression {
  const power = expFloat(call('sql.least', call('sql.negative', score), float(88.7)));
  return cast(call('sql.divide', float(1), call('sql.add', power, float(1))), 'float');
}

const LOGISTIC: readonly string[] = ['binary:logistic', 'reg:logistic'];
const logit = (probability: number): number => -Math.log(1 / probability - 1);

/** What the objective makes of a score; undefined: not supported. */
function transformed(objective: string, score: Expression): Expression | undefined {
  if (LOGISTIC.includes(objective)) return sigmoid(score);
  switch (objective) {
    case 'reg:linear':
    case 'reg:squarederror':
    case 'reg:squaredlogerror':
    case 'reg:absoluteerror':
    case 'reg:pseudohubererror':
    case 'binary:logitraw':
    case 'binary:hinge':
      return objective === 'binary:hinge' ? undefined : score;
    case 'count:poisson':
    case 'reg:gamma':
    case 'reg:tweedie':
      return expFloat(score);
    default:
      return undefined;
  }
}

/** The base score is given as what the objective makes of it. */
function margin({ objective, baseScore }: Booster): number {
  if (LOGISTIC.includes(objective) || objective === 'binary:logitraw') {
    return objective === 'binary:logitraw' ? baseScore : logit(baseScore);
  }
  return /^(count:poisson|reg:gamma|reg:tweedie)$/.test(objective)
    ? Math.log(baseScore)
    : baseScore;
}

/** A float score as an expression, and its column. */
function score(node: OpNode, booster: Booster): Expression {
  const column = node.builder.column('margin', 'double');
  addScores(node, booster, margin(booster), 1, column);
  return cast(columnRef(column), 'float');
}

function fill(node: OpNode, column: Column, value: Expression): void {
  const expressions = { expressions: [cast(value, 'double')] };
  node.builder.stage('derive', [], [column], { expressions }, node.place);
}

/** [1 - x, x] */
function fillPair(node: OpNode, column: Column, value: Expression): void {
  const { builder, place } = node;
  const second = builder.derive('value of class 1', 'double', cast(value, 'double'), place);
  const rest = cast(call('sql.subtract', float(1), value), 'double');
  const first = builder.derive('value of class 0', 'double', rest, place);
  vectorAssembler(
    builder,
    { inputs: [first, second], output: column, handleInvalid: 'nan' },
    place,
  );
}

async function regressor(node: OpNode): Promise<void> {
  const booster = await boosterOf(node);
  const value = transformed(booster.objective, score(node, booster));
  if (value === undefined || booster.numClass > 1) {
    node.problem(`the objective '${booster.objective}' is not supported`);
    return;
  }
  fill(node, node.output(DOUBLE, 'prediction'), value);
}

async function classifier(node: OpNode): Promise<void> {
  const booster = await boosterOf(node);
  if (booster.objective !== 'binary:logistic' || node.attributes.integer('num_classes', 2) !== 2) {
    node.problem(`the objective '${booster.objective}' is not supported`);
    return;
  }
  const margins = score(node, booster);
  const probability = node.builder.derive(
    'probability of 1',
    'float',
    sigmoid(margins),
    node.place,
  );
  const chosen = call('sql.greater_equal', columnRef(probability), float(0.5));
  fill(node, node.output(DOUBLE, 'prediction'), call('sql.case', chosen, constant(1), constant(0)));
  const probabilities = node.optionalOutput(vectorOf(2), 'probability');
  if (probabilities !== undefined) fillPair(node, probabilities, columnRef(probability));
  const raw = node.optionalOutput(vectorOf(2), 'raw_prediction');
  if (raw !== undefined) fillPair(node, raw, margins);
}

export const XGBOOST_OPS: Readonly<Record<string, Op>> = {
  'xgboost.classifier': prediction(classifier),
  'xgboost.regression': prediction(regressor),
};
