// Trees whose nodes test one field each, as the nodes of a stage `forest`: a node's children are a
// list of tests, of which the first one that is true decides. Importer's worker thread.
// Source: tabular.md 3.2
import type { Column } from '../../plan/builder.js';
import { type TreeNodes, TreeMissing, TreeTest } from '../../plan/forest.js';
import type { Context } from '../lower.js';
import { setOf } from '../predicates.js';
import type { XmlElement } from '../xml/reader.js';
import { nodeComparison, realOf } from './nodes.js';
import { Predicate, type TreeTable, cellOf } from './table.js';

/** A child's test as the kernel has it: true where the test is `yes`. */
interface KernelTest {
  readonly column: Column;
  readonly test: TreeTest;
  readonly number: number;
  readonly members?: readonly string[];
  readonly yes: boolean;
}

type Leaf = (node: number) => readonly number[] | undefined;

const OPERATORS: Readonly<Record<string, readonly [TreeTest, boolean]>> = {
  lessOrEqual: [TreeTest.LessOrEqual, true],
  greaterThan: [TreeTest.LessOrEqual, false],
  lessThan: [TreeTest.Less, true],
  greaterOrEqual: [TreeTest.Less, false],
  equal: [TreeTest.Equal, true],
  notEqual: [TreeTest.Equal, false],
  isMissing: [TreeTest.IsMissing, true],
  isNotMissing: [TreeTest.IsMissing, false],
};

/** Thrown inside where a tree does not fit; nobody else sees it. */
class Unfit extends Error {}

export class ForestNodes {
  readonly #feature: number[] = [];
  readonly #threshold: number[] = [];
  readonly #left: number[] = [];
  readonly #right: number[] = [];
  readonly #test: number[] = [];
  readonly #missing: number[] = [];
  readonly #roots: number[] = [];
  readonly #leaves: number[] = [];
  readonly #covers: number[] = [];
  readonly #features: Column[] = [];
  readonly #featureOf = new Map<Column, number>();
  readonly #categories = new Map<number, Map<string, number>>();
  readonly #setOffsets: number[] = [0];
  readonly #setMembers: number[] = [];

  constructor(readonly width: number) {}

  /** Adds a tree. False: it does not fit; nothing can be done with these nodes then. */
  add(table: TreeTable, context: Context, leaf: Leaf): boolean {
    try {
      this.#roots.push(new Adding(this, table, context, leaf).root());
      return true;
    } catch (error) {
      if (error instanceof Unfit) return false;
      throw error;
    }
  }

  /** `cover`: the training rows that reached it; NaN: the document does not say. */
  leaf(values: readonly number[], cover: number): number {
    const at = this.#leaves.length / this.width;
    this.#leaves.push(...values);
    this.#covers.push(cover);
    return ~at;
  }

  /** A node whose children are set later. */
  node(test: KernelTest): number {
    const feature = this.#feature_of(test.column);
    this.#feature.push(feature);
    this.#test.push(test.test);
    this.#threshold.push(
      test.members === undefined ? test.number : this.#set(feature, test.members),
    );
    this.#left.push(0);
    this.#right.push(0);
    this.#missing.push(TreeMissing.NoAnswer);
    return this.#feature.length - 1;
  }

  link(node: number, test: KernelTest, yes: number, no: number, missing: TreeMissing): void {
    this.#left[node] = test.yes ? yes : no;
    this.#right[node] = test.yes ? no : yes;
    this.#missing[node] = missing;
  }

  #feature_of(column: Column): number {
    const known = this.#featureOf.get(column);
    if (known !== undefined) return known;
    this.#features.push(column);
    this.#featureOf.set(column, this.#features.length - 1);
    return this.#features.length - 1;
  }

  #set(feature: number, members: readonly string[]): number {
    let known = this.#categories.get(feature);
    if (known === undefined) {
      known = new Map();
      this.#categories.set(feature, known);
    }
    for (const each of members) {
      const at = known.get(each) ?? known.size;
      known.set(each, at);
      this.#setMembers.push(at);
    }
    this.#setOffsets.push(this.#setMembers.length);
    return this.#setOffsets.length - 2;
  }

  /** By leaf. undefined: the document does not say. */
  get covers(): Float64Array | undefined {
    return this.#covers.some(Number.isNaN) ? undefined : Float64Array.from(this.#covers);
  }

  finish() {
    const nodes: TreeNodes = {
      feature: Int32Array.from(this.#feature),
      threshold: Float64Array.from(this.#threshold),
      left: Int32Array.from(this.#left),
      right: Int32Array.from(this.#right),
      test: Uint8Array.from(this.#test),
      missing: Uint8Array.from(this.#missing),
    };
    const sets = {
      offsets: Int32Array.from(this.#setOffsets),
      members: Int32Array.from(this.#setMembers),
    };
    const categories = new Map([...this.#categories].map(([at, words]) => [at, [...words.keys()]]));
    return {
      features: this.#features,
      nodes,
      roots: Int32Array.from(this.#roots),
      leaves: Float64Array.from(this.#leaves),
      width: this.width,
      ...(this.#setOffsets.length > 1 ? { sets } : {}),
      ...(categories.size > 0 ? { categories } : {}),
    };
  }
}

/** One tree on its way into a forest. */
class Adding {
  readonly #strategy: string;
  readonly #lastWithoutChild: boolean;

  constructor(
    readonly forest: ForestNodes,
    readonly table: TreeTable,
    readonly context: Context,
    readonly leaf: Leaf,
  ) {
    const { attributes } = context.element;
    this.#strategy = attributes['missingValueStrategy'] ?? 'none';
    this.#lastWithoutChild = attributes['noTrueChildStrategy'] === 'returnLastPrediction';
    if (!/^(none|lastPrediction|nullPrediction|defaultChild)$/.test(this.#strategy)) {
      throw new Unfit();
    }
  }

  root(): number {
    if (this.table.predicate[0] !== Predicate.True) throw new Unfit();
    return this.#subtree(0, 0);
  }

  #leafOf(node: number, cover: number): number {
    const values = this.leaf(node);
    if (values === undefined) throw new Unfit();
    return this.forest.leaf(values, cover);
  }

  #children(node: number): number[] {
    const found: number[] = [];
    let child = this.table.firstChild[node] as number;
    for (; child >= 0; child = this.table.nextSibling[child] as number) found.push(child);
    return found;
  }

  #subtree(node: number, depth: number): number {
    if (depth > 1000) throw new Unfit();
    const children = this.#children(node);
    if (children.length === 0)
      return this.#leafOf(node, this.table.recordCount[node] ?? Number.NaN);
    const always = children.findIndex((each) => this.table.predicate[each] === Predicate.True);
    const decided = always < 0 ? children : children.slice(0, always);
    const tests = decided.map((each) => this.#test(each));
    const otherwise = always < 0 ? undefined : (children[always] as number);
    if (tests.length === 0) return this.#subtree(otherwise as number, depth + 1);
    if (otherwise !== undefined) {
      return this.#list(node, decided, tests, this.#subtree(otherwise, depth + 1), depth);
    }
    if (this.#lastWithoutChild && !isComplete(tests)) {
      return this.#list(node, decided, tests, this.#ownLeaf(node, decided), depth);
    }
    return this.#complete(node, decided, tests, depth);
  }

  #test(node: number): KernelTest {
    const { table, context } = this;
    const kind = table.predicate[node];
    if (kind === Predicate.Element) {
      return this.#setTest(table.elements[table.element[node] as number] as XmlElement);
    }
    if (kind !== Predicate.Simple) throw new Unfit();
    const comparison = nodeComparison(table, node, context);
    if (comparison === undefined || comparison.order !== undefined) throw new Unfit();
    const { operator, field, value } = comparison;
    const [test, yes] = OPERATORS[operator] as readonly [TreeTest, boolean];
    const column = context.field(field, context.element);
    if (value?.type !== 'string') {
      return { column, test, yes, number: value === undefined ? 0 : realOf(value) };
    }
    return { column, test: TreeTest.InSet, yes, number: 0, members: [value.text ?? ''] };
  }

  #setTest(element: XmlElement): KernelTest {
    if (element.name !== 'SimpleSetPredicate') throw new Unfit();
    const { context } = this;
    const set = setOf(element, context.lowering.fields, context.names);
    if (set === undefined || context.fieldInfo(set.field).dataType !== 'string') throw new Unfit();
    const members = set.values.map((each) => each.text ?? '');
    const column = context.field(set.field, context.element);
    return { column, test: TreeTest.InSet, yes: !set.not, number: 0, members };
  }

  // The node as a leaf, of the records that its children do not have.
  #ownLeaf(node: number, children: readonly number[]): number {
    const { recordCount } = this.table;
    const below = children.reduce((sum, each) => sum + (recordCount[each] ?? Number.NaN), 0);
    return this.#leafOf(node, Math.max(0, (recordCount[node] ?? Number.NaN) - below));
  }

  // A sequence of tests, and what follows if none succeeds. A missing value fails a test if the
  // tree has no strategy.
  #list(
    node: number,
    children: readonly number[],
    tests: readonly KernelTest[],
    otherwise: number,
    depth: number,
  ): number {
    let next = otherwise;
    for (let i = tests.length - 1; i >= 0; i -= 1) {
      const test = tests[i] as KernelTest;
      const made = this.forest.node(test);
      const yes = this.#subtree(children[i] as number, depth + 1);
      next = this.#linked(made, test, yes, next, node);
    }
    return next;
  }

  #linked(made: number, test: KernelTest, yes: number, no: number, node: number): number {
    const toNo = test.yes ? TreeMissing.Right : TreeMissing.Left;
    if (test.test === TreeTest.IsMissing || this.#strategy === 'none') {
      this.forest.link(made, test, yes, no, toNo);
      return made;
    }
    if (this.#strategy === 'defaultChild') throw new Unfit();
    this.forest.link(made, test, yes, no, TreeMissing.NoAnswer);
    return this.#strategy === 'nullPrediction' ? made : this.#beforeMissing(made, test, node);
  }

  // A missing field gets the node's own score.
  #beforeMissing(made: number, test: KernelTest, node: number): number {
    const missing: KernelTest = {
      column: test.column,
      test: TreeTest.IsMissing,
      number: 0,
      yes: true,
    };
    const before = this.forest.node(missing);
    // The node's records are counted by its children.
    this.forest.link(before, missing, this.#leafOf(node, 0), made, TreeMissing.Left);
    return before;
  }

  // Two children that are each other's opposite, and perhaps a third one for missing values.
  #complete(
    node: number,
    children: readonly number[],
    tests: readonly KernelTest[],
    depth: number,
  ): number {
    const ifMissing = missingTest(tests);
    const rest = tests.map((_, i) => i).filter((i) => i !== ifMissing);
    const [a] = rest.map((i) => tests[i] as KernelTest);
    if (a === undefined || !isComplete(tests)) throw new Unfit();
    const [first, second] = rest.map((i) => children[i] as number) as [number, number];
    const made = this.forest.node(a);
    const yes = this.#subtree(first, depth + 1);
    const no = this.#subtree(second, depth + 1);
    if (ifMissing >= 0) {
      const own = tests[ifMissing] as KernelTest;
      if (own.column !== a.column || this.#strategy !== 'none') throw new Unfit();
      this.forest.link(made, a, yes, no, TreeMissing.NoAnswer);
      const before = this.forest.node(own);
      const missing = this.#subtree(children[ifMissing] as number, depth + 1);
      this.forest.link(before, own, missing, made, TreeMissing.Left);
      return before;
    }
    return this.#withMissing(node, [first, second], a, made, yes, no);
  }

  #withMissing(
    node: number,
    children: readonly [number, number],
    test: KernelTest,
    made: number,
    yes: number,
    no: number,
  ): number {
    const { table } = this;
    const toYes = test.yes ? TreeMissing.Left : TreeMissing.Right;
    const toNo = test.yes ? TreeMissing.Right : TreeMissing.Left;
    if (this.#strategy === 'defaultChild') {
      const id = cellOf(table, table.defaultChild, node);
      const has = (each: number) => cellOf(table, table.id, each) === id;
      const side = id === undefined ? -1 : children.findIndex(has);
      if (side < 0) throw new Unfit();
      this.forest.link(made, test, yes, no, side === 0 ? toYes : toNo);
      return made;
    }
    this.forest.link(made, test, yes, no, TreeMissing.NoAnswer);
    const last =
      this.#strategy === 'lastPrediction' ||
      (this.#strategy === 'none' &&
        this.#lastWithoutChild &&
        (table.score.begin[node] as number) >= 0);
    return last ? this.#beforeMissing(made, test, node) : made;
  }
}

const missingTest = (tests: readonly KernelTest[]): number =>
  tests.findIndex((each) => each.test === TreeTest.IsMissing && each.yes);

/** Whether, besides a test for missing values, there are two tests that are opposites. */
function isComplete(tests: readonly KernelTest[]): boolean {
  const ifMissing = missingTest(tests);
  const [a, b, ...more] = tests.filter((_, i) => i !== ifMissing);
  return a !== undefined && b !== undefined && more.length === 0 && opposite(a, b);
}

function opposite(a: KernelTest, b: KernelTest): boolean {
  if (a.column !== b.column || a.test !== b.test || a.yes === b.yes) return false;
  if (a.members === undefined || b.members === undefined) return a.number === b.number;
  return (
    a.members.length === b.members.length && a.members.every((each, i) => each === b.members?.[i])
  );
}
