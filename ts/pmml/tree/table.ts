// The nodes of a tree in flat arrays, made when its element ends: a document with a million nodes
// never stands in memory as elements. Importer's worker thread.
import { arrayTexts } from '../arrays.js';
import type { XmlElement } from '../xml.js';

/** What stands in a node as its predicate. */
export enum Predicate {
  None = 0,
  True = 1,
  False = 2,
  Simple = 3,
  /** A set or compound one: see TreeTable.elements. */
  Element = 4,
}

/** Nodes in document order; the first one is the root. -1: there is none. */
export interface TreeTable {
  readonly count: number;
  readonly line: Int32Array;
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  readonly predicate: Uint8Array;
  /** Of Simple: into `texts`. */
  readonly field: Int32Array;
  readonly operator: Int32Array;
  /** Of Simple: the value as a number, and into `texts` where its text is not that number's. */
  readonly number: Float64Array;
  readonly text: Int32Array;
  /** Of Element: into `elements`. */
  readonly element: Int32Array;
  /** Into `texts`. */
  readonly score: Int32Array;
  readonly id: Int32Array;
  readonly defaultChild: Int32Array;
  readonly recordCount: Float64Array; // NaN: not said
  /** Node i has the distributions [distribution[i], distribution[i + 1]). */
  readonly distribution: Int32Array;
  readonly label: Int32Array; // into `texts`
  readonly labelCount: Float64Array;
  readonly labelProbability: Float64Array;
  readonly labelConfidence: Float64Array;
  readonly texts: readonly string[];
  readonly elements: readonly XmlElement[];
  /** Elements inside nodes that are not supported, with their lines. */
  readonly strange: readonly XmlElement[];
}

// A piece of a large text keeps all of it; a copy does not.
function ownText(text: string): string {
  return text.length < 13 ? text : Buffer.from(text).toString();
}

function numberOr(text: string | undefined): number {
  return text === undefined || text.trim() === '' ? Number.NaN : Number(text);
}

const PREDICATES: Readonly<Record<string, Predicate>> = {
  True: Predicate.True,
  False: Predicate.False,
  SimplePredicate: Predicate.Simple,
  SimpleSetPredicate: Predicate.Element,
  CompoundPredicate: Predicate.Element,
};
const IGNORED = new Set(['Extension', 'Partition']);

class Builder {
  readonly line: number[] = [];
  readonly firstChild: number[] = [];
  readonly nextSibling: number[] = [];
  readonly predicate: number[] = [];
  readonly field: number[] = [];
  readonly operator: number[] = [];
  readonly number: number[] = [];
  readonly text: number[] = [];
  readonly element: number[] = [];
  readonly score: number[] = [];
  readonly id: number[] = [];
  readonly defaultChild: number[] = [];
  readonly recordCount: number[] = [];
  readonly distribution: number[] = [];
  readonly label: number[] = [];
  readonly labelCount: number[] = [];
  readonly labelProbability: number[] = [];
  readonly labelConfidence: number[] = [];
  readonly texts: string[] = [];
  readonly elements: XmlElement[] = [];
  readonly strange: XmlElement[] = [];
  readonly #known = new Map<string, number>();

  #intern(text: string | undefined): number {
    if (text === undefined) return -1;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const own = ownText(text);
    this.texts.push(own);
    this.#known.set(own, this.texts.length - 1);
    return this.texts.length - 1;
  }

  /** Adds a node, not its children; answers those. */
  add(node: XmlElement): XmlElement[] {
    const { attributes } = node;
    this.line.push(node.line);
    this.firstChild.push(-1);
    this.nextSibling.push(-1);
    this.score.push(this.#intern(attributes['score']));
    this.id.push(this.#intern(attributes['id']));
    this.defaultChild.push(this.#intern(attributes['defaultChild']));
    this.recordCount.push(numberOr(attributes['recordCount']));
    this.distribution.push(this.label.length);
    this.predicate.push(Predicate.None);
    for (const list of [this.field, this.operator, this.text, this.element]) list.push(-1);
    this.number.push(Number.NaN);
    const inner: XmlElement[] = [];
    for (const child of node.children) {
      if (child.name === 'Node') inner.push(child);
      else if (child.name === 'ScoreDistribution') this.#distribution(child);
      else if (Object.hasOwn(PREDICATES, child.name)) this.#predicate(child);
      else if (!IGNORED.has(child.name)) this.strange.push({ ...child, children: [] });
    }
    return inner;
  }

  #distribution({ attributes }: XmlElement): void {
    this.label.push(this.#intern(attributes['value'] ?? ''));
    this.labelCount.push(numberOr(attributes['recordCount']));
    this.labelProbability.push(numberOr(attributes['probability']));
    this.labelConfidence.push(numberOr(attributes['confidence']));
  }

  #predicate(element: XmlElement): void {
    const at = this.line.length - 1;
    const kind = PREDICATES[element.name] ?? Predicate.None;
    this.predicate[at] = kind;
    if (kind === Predicate.Element) {
      this.elements.push(element);
      this.element[at] = this.elements.length - 1;
    }
    if (kind !== Predicate.Simple) return;
    const { field, operator, value } = element.attributes;
    this.field[at] = this.#intern(field);
    this.operator[at] = this.#intern(operator ?? '');
    if (value === undefined) return;
    const number = numberOr(value);
    this.number[at] = number;
    if (String(number) !== value) this.text[at] = this.#intern(value);
  }

  finish(): TreeTable {
    const ints = (list: readonly number[]) => Int32Array.from(list);
    const reals = (list: readonly number[]) => Float64Array.from(list);
    return {
      count: this.line.length,
      line: ints(this.line),
      firstChild: ints(this.firstChild),
      nextSibling: ints(this.nextSibling),
      predicate: Uint8Array.from(this.predicate),
      field: ints(this.field),
      operator: ints(this.operator),
      number: reals(this.number),
      text: ints(this.text),
      element: ints(this.element),
      score: ints(this.score),
      id: ints(this.id),
      defaultChild: ints(this.defaultChild),
      recordCount: reals(this.recordCount),
      distribution: ints([...this.distribution, this.label.length]),
      label: ints(this.label),
      labelCount: reals(this.labelCount),
      labelProbability: reals(this.labelProbability),
      labelConfidence: reals(this.labelConfidence),
      texts: this.texts,
      elements: this.elements,
      strange: this.strange,
    };
  }
}

/** The table of a root Node. */
export function treeTable(root: XmlElement): TreeTable {
  const builder = new Builder();
  // Document order without recursion: each entry is a node and where it hangs.
  const waiting: { node: XmlElement; parent: number }[] = [{ node: root, parent: -1 }];
  const last = new Map<number, number>(); // of a parent: the child before
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const at = builder.line.length;
    const inner = builder.add(next.node);
    const before = last.get(next.parent);
    if (before !== undefined) builder.nextSibling[before] = at;
    else if (next.parent >= 0) builder.firstChild[next.parent] = at;
    last.set(next.parent, at);
    for (const child of inner.reverse()) waiting.push({ node: child, parent: at });
  }
  return builder.finish();
}

/** For readXml: compacts the root Node of each TreeModel as it ends. */
export function compactTrees(element: XmlElement, around: readonly string[]): void {
  if (element.name !== 'Node' || around.at(-1) !== 'TreeModel') return;
  element.compact = treeTable(element);
  element.children.length = 0;
}

/** The texts of a set predicate's Array. */
export function setTexts(element: XmlElement): string[] {
  const array = element.children.find((each) => each.name === 'Array');
  return array === undefined ? [] : arrayTexts(array);
}
