// The explanation of a RegressionModel: of the linear part of each table, whose terms are functions
// of one field each, or results of segments that are explained themselves. Importer's worker
// thread.
import { call, type Column, columnRef, constant, type Expression } from '../../plan/builder.js';
import { scoreCount } from '../../plan/explain.js';
import { vectorAssembler } from '../../plan/ops/vectors.js';
import { type ExplainedTerm, inFieldOrder, summedExplanation } from './explanations.js';
import type { ModelContext, PmmlExplanation } from '../context.js';
import type { XmlElement } from '../xml/reader.js';

/** A term of a table: coefficient * value^exponent, or coefficient if the field has the value. */
export interface RegressionTerm {
  readonly field: string;
  readonly column: Column;
  readonly coefficient: number;
  readonly exponent?: number;
  readonly category?: Expression;
}

export interface RegressionTerms {
  readonly intercept: number;
  readonly terms: readonly RegressionTerm[];
  /** Whether there are products of fields, which have no values of single fields. */
  readonly hasProducts: boolean;
}

/**
 * Scores are the tables' linear parts; a second table without terms, the reference of two classes,
 * has none. undefined: products of fields; a result of a segment that is not explained.
 */
export function explainedRegression(
  tables: readonly RegressionTerms[],
  context: ModelContext,
  at: XmlElement,
): PmmlExplanation | undefined {
  const isPair = tables.length === 2 && tables[1]?.terms.length === 0 && !tables[1].hasProducts;
  const scored = isPair && tables[1]?.intercept === 0 ? tables.slice(0, 1) : tables;
  if (scored.some(({ hasProducts }) => hasProducts)) return undefined;
  const summands: ExplainedTerm[] = [];
  const linear = new LinearTerms(scored.length);
  for (const [score, { terms }] of scored.entries()) {
    for (const term of terms) {
      if (!context.isOutput(term.column)) {
        linear.add(term, score);
        continue;
      }
      const explanation = context.explanationOf(term.column);
      if (explanation === undefined) return undefined;
      const isNumber = (term.exponent ?? 1) === 1 && term.category === undefined;
      const isValue = explanation.isLimited !== true && explanation.isMargin !== true;
      if (!isNumber || !isValue || scoreCount(explanation.of) !== 1) return undefined;
      summands.push({ explanation, weight: term.coefficient, scores: [score] });
    }
  }
  const intercepts = scored.map(({ intercept }) => intercept);
  const own = linear.explanation(context, at, intercepts);
  if (summands.length === 0) return own;
  if (own === undefined) return summedExplanation(context.plan, summands, intercepts);
  const scores = [...scored.keys()];
  const all = [...summands, { explanation: own, weight: 1, scores }];
  return summedExplanation(context.plan, all, new Array<number>(scored.length).fill(0));
}

/** Terms of fields, each a column of a Vector of doubles. */
class LinearTerms {
  readonly #scores: number;
  readonly #terms = new Map<string, { readonly term: RegressionTerm; readonly by: number[] }>();

  constructor(scores: number) {
    this.#scores = scores;
  }

  add(term: RegressionTerm, score: number): void {
    const { column, exponent = 1, category } = term;
    const key = `${column} ${exponent} ${JSON.stringify(category)}`;
    const known = this.#terms.get(key) ?? { term, by: new Array<number>(this.#scores).fill(0) };
    this.#terms.set(key, known);
    known.by[score] = (known.by[score] ?? 0) + term.coefficient;
  }

  /** undefined: there are no terms. */
  explanation(
    context: ModelContext,
    at: XmlElement,
    intercepts: readonly number[],
  ): PmmlExplanation | undefined {
    const terms = [...this.#terms.values()];
    if (terms.length === 0) return undefined;
    const { plan } = context;
    const place = context.place(at);
    const vector = (): Column => {
      const inputs = terms.map(({ term }) =>
        plan.deriveLate(term.field, 'double', valueOf(term), place),
      );
      const output = plan.column('terms', 'vector');
      vectorAssembler(plan, { inputs, output, handleInvalid: 'error' }, place);
      return output;
    };
    const coefficients = Float64Array.from(
      { length: terms.length * this.#scores },
      (_, i) => terms[i % terms.length]?.by[Math.floor(i / terms.length)] ?? 0,
    );
    const of = { features: { vector }, coefficients, intercepts: Float64Array.from(intercepts) };
    const names = terms.map(({ term }) => term.field);
    const features = inFieldOrder(plan, names);
    const isPlain = features.join('\n') === names.join('\n');
    const parts = [
      {
        of,
        weight: 1,
        features: names.map((name) => features.indexOf(name)),
        scores: [...intercepts.keys()],
      },
    ];
    const sum = { parts, features: features.length, scores: this.#scores };
    return { of: isPlain ? of : sum, features };
  }
}

/** A missing category is not one of them; a missing number has no value. */
function valueOf({ column, exponent = 1, category }: RegressionTerm): Expression {
  const value = columnRef(column);
  if (category !== undefined) {
    const isOne = call('pmml.if', call('pmml.equal', value, category), constant(1), constant(0));
    return call('pmml.default', isOne, constant(0));
  }
  const number = call('pmml.cast', value, constant('double'));
  return exponent === 1 ? number : call('pmml.pow', number, constant(exponent));
}
