// The nodes of a tree in flat arrays, made while the document is read: a million nodes never stand
// in memory as elements. Importer's worker thread.
import { AttributeList, ownText } from '../xml/attribute-list.js';
import { elementOf, type XmlCapture, type XmlElement } from '../xml/reader.js';

/** The kind of a node's predicate. */
export enum Predicate {
  None = 0,
  True = 1,
  False = 2,
  Simple = 3,
  /** A set or compound one: see TreeTable.elements. */
  Element = 4,
}

/** Texts that most nodes have their own of: pieces of one string. -1: there is none. */
export interface Cells {
  readonly begin: Int32Array;
  readonly end: Int32Array;
}

/** Nodes in document order; the first one is the root. -1: there is none. */
export interface TreeTable {
  readonly count: number;
  readonly line: Int32Array;
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  readonly predicate: Uint8Array;
  /** For Simple: indexes into `texts`. */
  readonly field: Int32Array;
  readonly operator: Int32Array;
  /** For Element: indexes into `elements`. */
  readonly element: Int32Array;
  /** For Simple. */
  readonly value: Cells;
  readonly score: Cells;
  readonly id: Cells;
  readonly defaultChild: Cells;
  readonly recordCount: Float64Array; // NaN: not said
  /** Node i has the distributions [distribution[i], distribution[i + 1]). */
  readonly distribution: Int32Array;
  readonly label: Int32Array; // into `texts`
  readonly labelCount: Float64Array;
  readonly labelProbability: Float64Array;
  readonly labelConfidence: Float64Array;
  readonly texts: readonly string[];
  /** The text that cells are pieces of. */
  readonly pool: string;
  readonly elements: readonly XmlElement[];
  /** Elements inside nodes that are not supported or stand in a wrong place. */
  readonly strange: readonly XmlElement[];
}

/** The text of a cell; undefined: the node has none. */
export function cellOf(table: TreeTable, cells: Cells, node: number): string | undefined {
  const begin = cells.begin[node] as number;
  return begin < 0 ? undefined : table.pool.slice(begin, cells.end[node]);
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

// Cells while they grow.
class CellBuilder {
  readonly begin: number[] = [];
  readonly end: number[] = [];

  constructor(readonly pool: { readonly parts: string[]; size: number }) {}

  push(text: string | undefined): void {
    this.begin.push(-1);
    this.end.push(-1);
    if (text !== undefined) this.set(text);
  }

  /** Sets the last node's value. */
  set(text: string): void {
    this.begin[this.begin.length - 1] = this.pool.size;
    this.pool.size += text.length;
    this.end[this.end.length - 1] = this.pool.size;
    this.pool.parts.push(text);
  }

  finish(): Cells {
    return { begin: Int32Array.from(this.begin), end: Int32Array.from(this.end) };
  }
}

/** Makes the table of a root Node of what the XML reader tells. */
class TreeBuilder implements XmlCapture {
  readonly #line: number[] = [];
  readonly #firstChild: number[] = [];
  readonly #nextSibling: number[] = [];
  readonly #predicate: number[] = [];
  readonly #field: number[] = [];
  readonly #operator: number[] = [];
  readonly #element: number[] = [];
  readonly #recordCount: number[] = [];
  readonly #distribution: number[] = [];
  readonly #label: number[] = [];
  readonly #labelCount: number[] = [];
  readonly #labelProbability: number[] = [];
  readonly #labelConfidence: number[] = [];
  readonly #texts: string[] = [];
  readonly #elements: XmlElement[] = [];
  readonly #strange: XmlElement[] = [];
  readonly #known = new Map<string, number>();
  readonly #pool = { parts: [] as string[], size: 0 };
  readonly #value = new CellBuilder(this.#pool);
  readonly #score = new CellBuilder(this.#pool);
  readonly #id = new CellBuilder(this.#pool);
  readonly #defaultChild = new CellBuilder(this.#pool);
  /** The open nodes: each node, and its last child so far. */
  readonly #open: number[] = [];
  readonly #last: number[] = [];
  /** Elements that are kept as they are, outermost first; or how deep what is skipped is. */
  readonly #kept: XmlElement[] = [];
  #skipped = 0;

  #intern(text: string): number {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const own = ownText(text);
    this.#texts.push(own);
    this.#known.set(own, this.#texts.length - 1);
    return this.#texts.length - 1;
  }

  open(name: string, attributes: AttributeList, line: number): void {
    if (this.#skipped > 0) {
      this.#skipped += 1;
      return;
    }
    const around = this.#kept.at(-1);
    if (around !== undefined) {
      const element = elementOf(name, attributes, line);
      around.children.push(element);
      this.#kept.push(element);
      return;
    }
    if (name === 'Node') return this.#node(attributes, line);
    const kind = Object.hasOwn(PREDICATES, name) ? PREDICATES[name] : undefined;
    if (name === 'ScoreDistribution') this.#addLabel(attributes, line);
    else if (kind === Predicate.Element) return this.#keep(name, attributes, line);
    else if (kind !== undefined) this.#simple(kind, attributes, name, line);
    else if (!IGNORED.has(name)) this.#refuse(name, attributes, line);
    this.#skipped = 1;
  }

  text(text: string): void {
    const element = this.#kept.at(-1);
    if (element !== undefined && this.#skipped === 0) element.text += text;
  }

  close(): void {
    if (this.#skipped > 0) this.#skipped -= 1;
    else if (this.#kept.length > 0) this.#kept.pop();
    else {
      this.#open.pop();
      this.#last.pop();
    }
  }

  #refuse(name: string, attributes: AttributeList, line: number): void {
    this.#strange.push(elementOf(name, attributes, line));
  }

  // Returns whether an element of a node precedes its child nodes.
  #isBeforeChildren(name: string, attributes: AttributeList, line: number): boolean {
    if (this.#last.at(-1) === -1) return true;
    this.#refuse(name, attributes, line);
    return false;
  }

  #keep(name: string, attributes: AttributeList, line: number): void {
    const element = elementOf(name, attributes, line);
    this.#kept.push(element);
    if (!this.#isBeforeChildren(name, attributes, line)) return;
    const at = this.#line.length - 1;
    this.#predicate[at] = Predicate.Element;
    this.#elements.push(element);
    this.#element[at] = this.#elements.length - 1;
  }

  #node(attributes: AttributeList, line: number): void {
    const at = this.#line.length;
    const parent = this.#open.at(-1);
    if (parent !== undefined) {
      const before = this.#last[this.#last.length - 1] as number;
      if (before < 0) this.#firstChild[parent] = at;
      else this.#nextSibling[before] = at;
      this.#last[this.#last.length - 1] = at;
    }
    this.#open.push(at);
    this.#last.push(-1);
    this.#line.push(line);
    this.#firstChild.push(-1);
    this.#nextSibling.push(-1);
    this.#predicate.push(Predicate.None);
    this.#field.push(-1);
    this.#operator.push(-1);
    this.#element.push(-1);
    this.#recordCount.push(numberOr(attributes.get('recordCount')));
    this.#distribution.push(this.#label.length);
    this.#value.push(undefined);
    this.#score.push(attributes.get('score'));
    this.#id.push(attributes.get('id'));
    this.#defaultChild.push(attributes.get('defaultChild'));
  }

  #addLabel(attributes: AttributeList, line: number): void {
    if (!this.#isBeforeChildren('ScoreDistribution', attributes, line)) return;
    this.#label.push(this.#intern(attributes.get('value') ?? ''));
    this.#labelCount.push(numberOr(attributes.get('recordCount')));
    this.#labelProbability.push(numberOr(attributes.get('probability')));
    this.#labelConfidence.push(numberOr(attributes.get('confidence')));
  }

  #simple(kind: Predicate, attributes: AttributeList, name: string, line: number): void {
    if (!this.#isBeforeChildren(name, attributes, line)) return;
    const at = this.#line.length - 1;
    this.#predicate[at] = kind;
    if (kind !== Predicate.Simple) return;
    const field = attributes.get('field');
    const value = attributes.get('value');
    if (field !== undefined) this.#field[at] = this.#intern(field);
    this.#operator[at] = this.#intern(attributes.get('operator') ?? '');
    if (value !== undefined) this.#value.set(value);
  }

  finish(): TreeTable {
    const ints = (list: readonly number[]) => Int32Array.from(list);
    const reals = (list: readonly number[]) => Float64Array.from(list);
    return {
      count: this.#line.length,
      line: ints(this.#line),
      firstChild: ints(this.#firstChild),
      nextSibling: ints(this.#nextSibling),
      predicate: Uint8Array.from(this.#predicate),
      field: ints(this.#field),
      operator: ints(this.#operator),
      element: ints(this.#element),
      value: this.#value.finish(),
      score: this.#score.finish(),
      id: this.#id.finish(),
      defaultChild: this.#defaultChild.finish(),
      recordCount: reals(this.#recordCount),
      distribution: ints([...this.#distribution, this.#label.length]),
      label: ints(this.#label),
      labelCount: reals(this.#labelCount),
      labelProbability: reals(this.#labelProbability),
      labelConfidence: reals(this.#labelConfidence),
      texts: this.#texts,
      pool: this.#pool.parts.join(''),
      elements: this.#elements,
      strange: this.#strange,
    };
  }
}

/** The table of a root Node that was read as an element. */
export function treeTable(root: XmlElement): TreeTable {
  const builder = new TreeBuilder();
  const waiting: (XmlElement | undefined)[] = [root];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (next === undefined) {
      builder.close();
      continue;
    }
    builder.open(next.name, AttributeList.of(next.attributes), next.line);
    if (next.text !== '') builder.text(next.text);
    waiting.push(undefined, ...next.children.toReversed());
  }
  return builder.finish();
}

/** For readXml: reads the root Node of each TreeModel as a table. */
export function captureTrees(name: string, around: readonly string[]): XmlCapture | undefined {
  return name === 'Node' && around.at(-1) === 'TreeModel' ? new TreeBuilder() : undefined;
}
