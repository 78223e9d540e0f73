// A tree's nodes in the form of the stage `pmml.tree`. Importer's worker thread. Source: tabular.md
// 3.3
import { functionName } from '../../plan/attributes.js';
import type { Column, Expression } from '../../plan/builder.js';
import type { Value } from '../../plan/generated/plan.js';
import { placeOf } from '../document.js';
import type { Context } from '../lower.js';
import { type Comparison, comparisonOf, isPredicate, setOf } from '../predicates.js';
import type { XmlElement } from '../xml/reader.js';
import { Predicate, type TreeTable, cellOf } from './table.js';

/** Numbered as in native/tabular/pmml/tree.cc. */
enum Test {
  True = 0,
  False = 1,
  Less = 2,
  LessEqual = 3,
  Greater = 4,
  GreaterEqual = 5,
  Equal = 6,
  NotEqual = 7,
  IsMissing = 8,
  IsNotMissing = 9,
  TextEqual = 10,
  TextNotEqual = 11,
  InTexts = 12,
  NotInTexts = 13,
  InReals = 14,
  NotInReals = 15,
  Expression = 16,
  Surrogate = 17,
}

const OPERATORS: Readonly<Record<string, Test>> = {
  lessThan: Test.Less,
  lessOrEqual: Test.LessEqual,
  greaterThan: Test.Greater,
  greaterOrEqual: Test.GreaterEqual,
  equal: Test.Equal,
  notEqual: Test.NotEqual,
  isMissing: Test.IsMissing,
  isNotMissing: Test.IsNotMissing,
};

/** A value as the engine compares it: of numbers, dates and truth values. */
export function realOf(value: Value): number {
  return value.real ?? Number(value.integer ?? 0);
}

/** The SimplePredicate of a node. undefined: a problem, which is noted. */
export function nodeComparison(
  table: TreeTable,
  node: number,
  context: Context,
): Comparison | undefined {
  const field = table.field[node] as number;
  const parts = {
    field: field < 0 ? undefined : table.texts[field],
    operator: table.texts[table.operator[node] as number] ?? '',
    text: cellOf(table, table.value, node),
  };
  const place = () => `line ${table.line[node]} <SimplePredicate>`;
  return comparisonOf(parts, place, context.lowering.fields, context.names);
}

export class NodeAttributes {
  readonly inputs: Column[] = [];
  readonly #inputOf = new Map<string, number>();
  readonly #texts = new Map<string, number>();
  readonly #textSets: string[][] = [];
  readonly #realSets: number[][] = [];
  readonly #expressions: Expression[] = [];
  readonly #surrogates: Expression[][] = [];
  readonly #test: Int32Array;
  readonly #input: Int32Array;
  readonly #number: Float64Array;
  #mixed = false;

  constructor(
    readonly table: TreeTable,
    readonly context: Context,
    readonly at: XmlElement,
  ) {
    this.#test = new Int32Array(table.count);
    this.#input = new Int32Array(table.count);
    this.#number = new Float64Array(table.count);
    for (let node = 0; node < table.count; node += 1) this.#read(node);
    if (this.#mixed) this.#expressAll();
  }

  #input_of(name: string): number {
    const known = this.#inputOf.get(name);
    if (known !== undefined) return known;
    this.inputs.push(this.context.field(name, this.at));
    this.#inputOf.set(name, this.inputs.length - 1);
    return this.inputs.length - 1;
  }

  #set(node: number, test: Test, input: number, number: number): void {
    this.#test[node] = test;
    this.#input[node] = input;
    this.#number[node] = number;
  }

  #expression(node: number, expression: Expression): void {
    this.#expressions.push(expression);
    this.#set(node, Test.Expression, 0, this.#expressions.length - 1);
  }

  #read(node: number): void {
    switch (this.table.predicate[node]) {
      case Predicate.True:
        return this.#set(node, Test.True, 0, 0);
      case Predicate.False:
        return this.#set(node, Test.False, 0, 0);
      case Predicate.Simple:
        return this.#simple(node);
      case Predicate.Element:
        return this.#element(
          node,
          this.table.elements[this.table.element[node] as number] as XmlElement,
        );
      default:
        this.context.problems.add(`line ${this.table.line[node]} <Node>`, 'has no predicate');
    }
  }

  #simple(node: number): void {
    const comparison = nodeComparison(this.table, node, this.context);
    if (comparison === undefined) return;
    const { operator, field, value, order } = comparison;
    const test = OPERATORS[operator] as Test;
    const input = this.#input_of(field);
    if (value === undefined) return this.#set(node, test, input, 0);
    if (order !== undefined) {
      const column = { column: this.inputs[input] as Column };
      const values = order.map((each) => ({ value: { type: 'string', text: each } as const }));
      const ranked: Expression = { call: 'pmml.ordinal', args: [column, ...values] };
      const compare = functionName(`pmml.p.${operator}`);
      return this.#expression(node, { call: compare, args: [ranked, { value }] });
    }
    if (value.type !== 'string') return this.#set(node, test, input, realOf(value));
    const text = value.text ?? '';
    const at = this.#texts.get(text) ?? this.#texts.size;
    this.#texts.set(text, at);
    this.#set(node, operator === 'equal' ? Test.TextEqual : Test.TextNotEqual, input, at);
  }

  #element(node: number, element: XmlElement): void {
    if (element.name === 'CompoundPredicate') return this.#compound(node, element);
    const set = setOf(element, this.context.lowering.fields, this.context.names);
    if (set === undefined) return;
    const input = this.#input_of(set.field);
    if (this.context.fieldInfo(set.field).dataType === 'string') {
      this.#textSets.push(set.values.map((each) => each.text ?? ''));
      const at = this.#textSets.length - 1;
      return this.#set(node, set.not ? Test.NotInTexts : Test.InTexts, input, at);
    }
    this.#realSets.push(set.values.map(realOf));
    const at = this.#realSets.length - 1;
    this.#set(node, set.not ? Test.NotInReals : Test.InReals, input, at);
  }

  #compound(node: number, element: XmlElement): void {
    if (element.attributes['booleanOperator'] !== 'surrogate') {
      return this.#expression(node, this.context.predicate(element));
    }
    this.#mixed = true;
    const inner = element.children.filter(isPredicate);
    if (inner.length === 0) this.context.problems.add(placeOf(element), 'has no predicates');
    this.#surrogates.push(inner.map((each) => this.context.predicate(each)));
    this.#set(node, Test.Surrogate, 0, this.#surrogates.length - 1);
  }

  // Expressions of surrogates are ranges of one list; the other expressions follow, a range each.
  #expressAll(): void {
    for (const [node, test] of this.#test.entries()) {
      if (test !== Test.Expression) continue;
      const expression = this.#expressions[this.#number[node] as number] as Expression;
      this.#surrogates.push([expression]);
      this.#set(node, Test.Surrogate, 0, this.#surrogates.length - 1);
    }
    this.#expressions.length = 0;
  }

  /** The stage's attributes. */
  attributes() {
    const offsets = (sets: readonly (readonly unknown[])[]) => {
      let end = 0;
      return Int32Array.from([0, ...sets.map((each) => (end += each.length))]);
    };
    const surrogates = this.#surrogates.length > 0;
    const expressions = surrogates ? this.#surrogates.flat() : this.#expressions;
    return {
      first_child: this.table.firstChild,
      next_sibling: this.table.nextSibling,
      input: this.#input,
      test: this.#test,
      number: this.#number,
      scored: Int32Array.from(this.table.score.begin, (each) => (each >= 0 ? 1 : 0)),
      texts: [...this.#texts.keys()],
      text_offsets: this.#textSets.length > 0 ? offsets(this.#textSets) : undefined,
      set_texts: this.#textSets.length > 0 ? this.#textSets.flat() : undefined,
      real_offsets: this.#realSets.length > 0 ? offsets(this.#realSets) : undefined,
      set_reals: this.#realSets.length > 0 ? Float64Array.from(this.#realSets.flat()) : undefined,
      expressions: expressions.length > 0 ? { expressions } : undefined,
      surrogate_offsets: surrogates ? offsets(this.#surrogates) : undefined,
    };
  }
}
