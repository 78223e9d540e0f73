// TreeModel: which node a row ends in (stage `pmml.tree`), and what hangs on that node. Importer's
// worker thread. Source: tabular.md 3.2
import type { TreeMissing } from '../../plan/generated/stages.js';
import { type PickTable, addPick } from '../../plan/forest.js';
import { type Column, call, columnRef } from '../../plan/builder.js';
import type { LabelledVector, LowerModel, ModelResult, PmmlExplanation } from '../context.js';
import { placeOf } from '../document.js';
import type { Context } from '../lower.js';
import { lazyResult } from '../answers/results.js';
import { planType } from '../types.js';
import { type XmlElement, child } from '../xml/reader.js';
import { isFloat, keptNumber } from '../vendor.js';
import { explainedTree } from './explained.js';
import { NodeAttributes } from './nodes.js';
import { type TreeTable, cellOf, treeTable } from './table.js';

const STRATEGIES: Readonly<Record<string, TreeMissing>> = {
  none: 'none',
  lastPrediction: 'last',
  nullPrediction: 'null',
  defaultChild: 'default',
  weightedConfidence: 'weighted',
  aggregateNodes: 'aggregate',
};

/** The table of a TreeModel's nodes; undefined: it has none, which is noted. */
export function tableOf(model: XmlElement, context: Context): TreeTable | undefined {
  const root = child(model, 'Node');
  if (root === undefined) {
    context.problems.add(placeOf(model), 'has no Node');
    return undefined;
  }
  const table = (root.compact as TreeTable | undefined) ?? treeTable(root);
  for (const each of table.strange) {
    context.problems.add(placeOf(each), 'is not supported inside a Node');
  }
  return table;
}

/** Labels of the nodes' distributions and scores. */
export function treeLabels(table: TreeTable): string[] {
  const found = new Set<string>();
  for (const at of table.label) found.add(table.texts[at] as string);
  for (let node = 0; node < table.count; node += 1) {
    const score = cellOf(table, table.score, node);
    if (score !== undefined) found.add(score);
  }
  return [...found];
}

/** The probabilities of a node's distribution, by label; undefined: it has none. */
export function distributionOf(
  table: TreeTable,
  node: number,
  context: Context,
): Map<string, number> | undefined {
  const begin = table.distribution[node] as number;
  const end = table.distribution[node + 1] as number;
  if (begin === end) return undefined;
  const given = !Number.isNaN(table.labelProbability[begin]);
  const values = given ? table.labelProbability : table.labelCount;
  const found = new Map<string, number>();
  let sum = 0;
  for (let i = begin; i < end; i += 1) {
    const value = values[i] as number;
    if (!(value >= 0)) {
      const what = given ? 'probability' : 'recordCount';
      context.problems.add(`line ${table.line[node]} <Node>`, `a ScoreDistribution has no ${what}`);
    }
    sum += value;
    found.set(table.texts[table.label[i] as number] as string, value);
  }
  // A node that saw no record, as KNIME writes it: its score counts, it has no probabilities.
  if (sum === 0) return undefined;
  if (sum !== 1) for (const [label, value] of found) found.set(label, value / sum);
  return found;
}

/** Returns a node's score: as stated, or the most frequent label of its distribution. */
export function scoreOf(table: TreeTable, node: number, context: Context): string | undefined {
  const score = cellOf(table, table.score, node);
  if (score !== undefined) return score;
  const found = distributionOf(table, node, context);
  if (found === undefined) return undefined;
  return [...found].reduce((left, right) => (right[1] > left[1] ? right : left))[0];
}

class TreeLowering {
  readonly #node: Column;
  /** Confidences, where they depend on more than the node. */
  readonly #scores: Column | undefined;
  /** Probabilities of rows that end in several leaves, where the strategy has such. */
  readonly #blended: Column | undefined;
  readonly #labels: string[];
  readonly #place: string;

  constructor(
    readonly model: XmlElement,
    readonly context: Context,
    readonly table: TreeTable,
  ) {
    this.#place = placeOf(model);
    this.#labels = context.labels(treeLabels(table));
    const strategy = this.#strategy();
    const nodes = new NodeAttributes(table, context, model);
    this.#node = context.plan.column('node', 'int32');
    const penalty = this.#penalty();
    const blends = strategy === 'weighted' || strategy === 'aggregate';
    const scored = blends || penalty !== 1;
    const outputs = [this.#node];
    if (scored) outputs.push((this.#scores = context.plan.column('scores', 'vector')));
    if (blends) outputs.push((this.#blended = context.plan.column('blended', 'vector')));
    const attributes = {
      ...nodes.attributes(),
      default_child: this.#defaultChildren(strategy),
      on_missing: strategy,
      no_child_last: this.#lastWithoutChild(),
      answers: this.#answering(),
      counts: blends ? Float64Array.from(table.recordCount, (each) => each || 0) : undefined,
      scores: scored ? this.#confidences() : undefined,
      ...this.#blendedMatrices(strategy),
      width: scored ? this.#labels.length : undefined,
      penalty: { real: penalty },
    };
    context.plan.stage('pmml.tree', nodes.inputs, outputs, attributes, this.#place);
  }

  #strategy(): TreeMissing {
    const said = this.model.attributes['missingValueStrategy'] ?? 'none';
    const strategy = STRATEGIES[said];
    if (strategy !== undefined) return strategy;
    this.context.problems.add(this.#place, `missingValueStrategy="${said}" is unknown`);
    return 'none';
  }

  #lastWithoutChild(): boolean {
    const said = this.model.attributes['noTrueChildStrategy'] ?? 'returnNullPrediction';
    if (said !== 'returnNullPrediction' && said !== 'returnLastPrediction') {
      this.context.problems.add(this.#place, `noTrueChildStrategy="${said}" is unknown`);
    }
    return said === 'returnLastPrediction';
  }

  #penalty(): number {
    const text = this.model.attributes['missingValuePenalty'];
    const value = Number(text ?? 1);
    if (text !== undefined && !(value >= 0 && value <= 1)) {
      this.context.problems.add(this.#place, `missingValuePenalty="${text}" is not in [0, 1]`);
    }
    return this.context.functionName === 'classification' ? value : 1;
  }

  // Which nodes have a result; undefined: all have.
  #answering(): Int32Array | undefined {
    const { table } = this;
    const byLabels = this.context.functionName === 'classification';
    const answers = Int32Array.from(table.score.begin, (begin, node) => {
      const labels =
        (table.distribution[node + 1] as number) > (table.distribution[node] as number);
      return begin >= 0 || (byLabels && labels) ? 1 : 0;
    });
    return answers.includes(0) ? answers : undefined;
  }

  #defaultChildren(strategy: string): Int32Array | undefined {
    if (strategy !== 'default') return undefined;
    const { table } = this;
    return Int32Array.from({ length: table.count }, (_, node) => {
      const id = cellOf(table, table.defaultChild, node);
      if (id === undefined) return -1;
      let child = table.firstChild[node] as number;
      while (child >= 0 && cellOf(table, table.id, child) !== id) {
        child = table.nextSibling[child] as number;
      }
      if (child >= 0) return child;
      const reason = `defaultChild="${id}" is not one of its children`;
      this.context.problems.add(`line ${table.line[node]} <Node>`, reason);
      return -1;
    });
  }

  // Matrices for rows that end in several leaves: adds up record counts, or probabilities by the
  // leaves' weights; a label without a confidence uses its probability.
  #blendedMatrices(strategy: TreeMissing) {
    const { table } = this;
    const width = this.#labels.length;
    const blended = new Float64Array(table.count * width);
    if (strategy === 'aggregate') {
      this.#eachLabel((node, label, i) => {
        blended[node * width + label] = (table.labelCount[i] as number) || 0;
      });
      return { blended };
    }
    if (strategy !== 'weighted') return {};
    const probabilities = this.#probabilityMatrix();
    for (const [i, each] of probabilities.entries()) blended[i] = each || 0;
    const scores = Float64Array.from(blended);
    this.#eachLabel((node, label, i) => {
      const confidence = table.labelConfidence[i] as number;
      if (!Number.isNaN(confidence)) scores[node * width + label] = confidence;
    });
    return { blended, blended_scores: scores };
  }

  // 0 if a label has none, as in JPMML-Evaluator; NaN if the node has no distribution.
  #confidences(): Float64Array {
    const { table } = this;
    const width = this.#labels.length;
    const matrix = new Float64Array(table.count * width).fill(Number.NaN);
    for (let node = 0; node < table.count; node += 1) {
      if (table.distribution[node] === table.distribution[node + 1]) continue;
      matrix.fill(0, node * width, (node + 1) * width);
    }
    this.#eachLabel((node, label, i) => {
      matrix[node * width + label] = (table.labelConfidence[i] as number) || 0;
    });
    return matrix;
  }

  #eachLabel(visit: (node: number, label: number, i: number) => void): void {
    const { table } = this;
    const places = new Map(this.#labels.map((each, i) => [each, i]));
    for (let node = 0; node < table.count; node += 1) {
      const end = table.distribution[node + 1] as number;
      for (let i = table.distribution[node] as number; i < end; i += 1) {
        visit(node, places.get(table.texts[table.label[i] as number] as string) ?? 0, i);
      }
    }
  }

  #pick(name: string, type: 'vector' | 'string', table: PickTable): Column {
    const column = this.context.plan.column(name, type);
    addPick(this.context.plan, this.#node, table, column, this.#place);
    return column;
  }

  #vector(name: string, matrix: Float64Array): LabelledVector {
    const width = this.#labels.length;
    if (width > 1) {
      const table = { reals: matrix, width, nan_is_missing: true };
      return this.#labelled(this.#pick(name, 'vector', table));
    }
    const one = this.context.plan.column(name, 'double');
    addPick(
      this.context.plan,
      this.#node,
      { reals: matrix, nan_is_missing: true },
      one,
      this.#place,
    );
    return this.#labelled(this.context.vector([one], this.model));
  }

  #labelled(column: Column): LabelledVector {
    return { column, labels: this.#labels, written: treeLabels(this.table) };
  }

  #regression(): Column {
    const { table } = this;
    const values = Float64Array.from({ length: table.count }, (_, node) => {
      const score = cellOf(table, table.score, node);
      if (score === undefined) return Number.NaN;
      const value = Number(score);
      if (Number.isNaN(value)) {
        const reason = `score="${score}" is not a number`;
        this.context.problems.add(`line ${table.line[node]} <Node>`, reason);
      }
      return keptNumber(this.model, value);
    });
    const column = this.context.plan.column('score', 'double');
    addPick(
      this.context.plan,
      this.#node,
      { reals: values, nan_is_missing: true },
      column,
      this.#place,
    );
    return column;
  }

  #classification(): Column {
    const { context } = this;
    const scored = this.#label();
    if (this.#blended === undefined || this.#scores === undefined) return scored;
    const scores = { column: this.#scores, labels: this.#labels };
    const most = context.classify(scores, this.model);
    return this.#either(scored, most, context.target?.name ?? 'score');
  }

  // The first column, or the second one where that is missing.
  #either(first: Column, second: Column, name: string): Column {
    const { plan } = this.context;
    const either = call('pmml.default', columnRef(first), columnRef(second));
    return plan.derive(name, plan.typeOf(first), either, this.#place);
  }

  /** The node's label. */
  #label(): Column {
    const { context, table } = this;
    const dataType = context.target?.dataType ?? 'string';
    const type = planType(dataType) ?? 'string';
    const texts = Array.from({ length: table.count }, (_, node) => {
      const score = scoreOf(table, node, context);
      if (score === undefined && (table.firstChild[node] as number) < 0) {
        context.problems.add(`line ${table.line[node]} <Node>`, 'has no score');
      }
      return score;
    });
    const column = context.plan.column(context.target?.name ?? 'score', type);
    if (type === 'string') {
      const known = texts.map((each) => each ?? '');
      addPick(context.plan, this.#node, { texts: known }, column, this.#place);
      return column;
    }
    const values = texts.map((each) =>
      each === undefined ? undefined : context.value(each, dataType, this.model),
    );
    const numbers = values.map((each) => each?.real ?? Number(each?.integer ?? Number.NaN));
    const pick: PickTable =
      type === 'double' || type === 'float'
        ? { reals: Float64Array.from(numbers) }
        : { integers: Int32Array.from(numbers) };
    addPick(context.plan, this.#node, pick, column, this.#place);
    return column;
  }

  // NaN where a node has no distribution.
  #probabilityMatrix(): Float64Array {
    const { context, table } = this;
    const width = this.#labels.length;
    const matrix = new Float64Array(table.count * width).fill(Number.NaN);
    for (let node = 0; node < table.count; node += 1) {
      const found = distributionOf(table, node, context);
      if (found === undefined) continue;
      for (const [k, label] of this.#labels.entries()) {
        matrix[node * width + k] = found.get(label) ?? 0;
      }
    }
    return matrix;
  }

  #probabilities(): LabelledVector | undefined {
    if (this.table.label.length === 0) return undefined;
    const own = this.#vector('probabilities', this.#probabilityMatrix());
    if (this.#blended === undefined) return own;
    return { ...own, column: this.#either(own.column, this.#blended, 'probabilities') };
  }

  #confidenceVector(): LabelledVector | undefined {
    if (this.table.label.length === 0) return undefined;
    if (this.#scores !== undefined) return { column: this.#scores, labels: this.#labels };
    return this.#vector('confidences', this.#confidences());
  }

  #entityId(): Column {
    const { table } = this;
    const texts = Array.from(
      { length: table.count },
      (_, node) => cellOf(table, table.id, node) ?? String(node + 1),
    );
    return this.#pick('entityId', 'string', { texts });
  }

  /** The scores of a regression, or the probabilities. */
  #explanation(): PmmlExplanation | undefined {
    const { context, model, table } = this;
    if (context.functionName !== 'classification') {
      const valueOf = (node: number): readonly number[] | undefined => {
        const value = Number(cellOf(table, table.score, node) ?? Number.NaN);
        return Number.isNaN(value) ? undefined : [keptNumber(model, value)];
      };
      return explainedTree(model, table, context, 1, valueOf);
    }
    const sharesOf = (node: number): readonly number[] | undefined => {
      const found = distributionOf(table, node, context);
      return found && this.#labels.map((label) => found.get(label) ?? 0);
    };
    return explainedTree(model, table, context, this.#labels.length, sharesOf);
  }

  result(): ModelResult {
    if (this.context.functionName !== 'classification') {
      return lazyResult({
        predicted: () => this.#regression(),
        explanation: () => () => this.#explanation(),
        entityId: () => this.#entityId(),
      });
    }
    return lazyResult({
      predicted: () => this.#classification(),
      explanation: () => () => this.#explanation(),
      probabilities: () => this.#probabilities(),
      confidences: () => this.#confidenceVector(),
      confidencesUnsaid: () => this.table.labelConfidence.every((each) => Number.isNaN(each)),
      entityId: () => this.#entityId(),
    });
  }
}

/** TreeModel. */
export const lowerTree: LowerModel = (model, context) => {
  const inner = context as Context;
  const table = tableOf(model, inner);
  if (table === undefined) return {};
  if (isFloat(model) && inner.functionName !== 'regression') {
    const reason = 'x-mathContext="float" is supported for functionName="regression" only';
    inner.problems.add(placeOf(model), reason);
  }
  return new TreeLowering(model, inner, table).result();
};
