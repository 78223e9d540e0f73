// Lowers AssociationModel to the stages pmml.association and, for each output that returns a rule,
// pmml.rule_value. Importer's worker thread. Source: tabular.md 3.2
import { ASSOCIATION_ALGORITHM, type AssociationAlgorithm } from '../../plan/generated/stages.js';
import type { Column } from '../../plan/builder.js';
import type { Value } from '../../plan/generated/plan.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { InputList, Rows, needed, oneOf, real, valueOf } from './reading.js';

const BASES = ['confidence', 'support', 'lift', 'leverage', 'affinity'];
const FEATURES = ['antecedent', 'consequent', 'rule', 'ruleId', ...BASES];
const TRUE = ['true', 'T', '1'];
const FALSE = ['false', 'F', '0'];

/** Rows that contain an item: an input has a value. -1: a value that means absence. */
interface Pairs {
  readonly items: number[];
  readonly inputs: number[];
  readonly values: Value[];
  readonly flags: Set<number>;
}

/** The items of a list, one field holding the texts of all. */
function listPairs(
  items: readonly XmlElement[],
  field: string,
  context: ModelContext,
  inputs: InputList,
  model: XmlElement,
): Pairs {
  const at = inputs.column(context.list(field, model));
  return {
    items: items.map((_, i) => i),
    inputs: items.map(() => at),
    values: items.map((item) => ({
      type: 'string',
      text: item.attributes['category'] ?? needed(context, item, 'value'),
    })),
    flags: new Set(),
  };
}

/** Which field has which value where a row has the item; no value: the field is a flag. */
function fieldOf(
  item: XmlElement,
  context: ModelContext,
): { name: string; category: string | undefined } | undefined {
  const { field, category } = item.attributes;
  const value = needed(context, item, 'value');
  if (field !== undefined) {
    if (category === undefined) needed(context, item, 'category');
    return { name: field, category };
  }
  if (context.hasField(value)) return { name: value, category: undefined };
  const equals = value.indexOf('=');
  const name = value.slice(0, Math.max(equals, 0));
  if (equals > 0 && context.hasField(name)) {
    return { name, category: value.slice(equals + 1) };
  }
  context.problems.add(context.place(item), `item '${value}' refers to no field`);
  return undefined;
}

function flagValues(dataType: string, texts: readonly string[]): Value[] {
  if (dataType === 'boolean') {
    return [{ type: 'bool', integer: texts === TRUE ? 1 : 0 }];
  }
  if (dataType === 'string') {
    return texts.slice(0, 2).map((text) => ({ type: 'string', text }));
  }
  return [{ type: 'double', real: texts === TRUE ? 1 : 0 }];
}

/** The items of fields that are flags or have values. */
function fieldPairs(items: readonly XmlElement[], context: ModelContext, inputs: InputList): Pairs {
  const pairs: Pairs = { items: [], inputs: [], values: [], flags: new Set() };
  const add = (item: number, input: number, values: readonly Value[]) => {
    for (const value of values) {
      pairs.items.push(item);
      pairs.inputs.push(input);
      pairs.values.push(value);
    }
  };
  for (const [i, item] of items.entries()) {
    const found = fieldOf(item, context);
    if (found === undefined) continue;
    const { name, category } = found;
    const input = inputs.column(context.field(name, item));
    const { dataType } = context.fieldInfo(name);
    if (category !== undefined) {
      add(i, input, [valueOf(context, item, category, dataType)]);
      continue;
    }
    add(i, input, flagValues(dataType, TRUE));
    add(-1, input, flagValues(dataType, FALSE));
    pairs.flags.add(input);
  }
  return pairs;
}

function pairsOf(
  model: XmlElement,
  context: ModelContext,
  items: readonly XmlElement[],
  inputs: InputList,
): { pairs: Pairs; list: boolean } {
  const schema = child(model, 'MiningSchema');
  const fields = schema === undefined ? [] : children(schema, 'MiningField');
  const used = (types: readonly string[]) =>
    fields.filter((each) => types.includes(each.attributes['usageType'] ?? 'active'));
  const groups = used(['group']);
  const active = used(['active']);
  if (groups.length === 0) return { pairs: fieldPairs(items, context, inputs), list: false };
  const name = active[0]?.attributes['name'];
  if (groups.length > 1 || active.length !== 1 || name === undefined) {
    const reason = `expected one group field and one active field, got ${groups.length} and ${active.length}`;
    context.problems.add(context.place(model), reason);
    return { pairs: fieldPairs([], context, inputs), list: false };
  }
  return { pairs: listPairs(items, name, context, inputs, model), list: true };
}

/** Item sets and rules with the texts that outputs show. */
class Rules {
  readonly elements: readonly XmlElement[];
  readonly setRows = new Rows();
  readonly setItems: number[] = [];
  readonly antecedents: number[] = [];
  readonly consequents: number[] = [];
  readonly #context: ModelContext;
  readonly #texts: string[][] = [];

  constructor(model: XmlElement, context: ModelContext, items: readonly XmlElement[]) {
    this.#context = context;
    const itemAt = new Map(items.map((each, i) => [needed(context, each, 'id'), i]));
    const setAt = new Map<string, number>();
    for (const set of children(model, 'Itemset')) {
      setAt.set(needed(context, set, 'id'), setAt.size);
      this.#set(set, items, itemAt);
    }
    this.elements = children(model, 'AssociationRule');
    const find = (rule: XmlElement, name: string): number => {
      const id = needed(context, rule, name);
      const at = setAt.get(id);
      if (at === undefined) context.problems.add(context.place(rule), `no Itemset '${id}'`);
      return at ?? 0;
    };
    for (const rule of this.elements) {
      this.antecedents.push(find(rule, 'antecedent'));
      this.consequents.push(find(rule, 'consequent'));
    }
  }

  #set(set: XmlElement, items: readonly XmlElement[], at: ReadonlyMap<string, number>): void {
    const refs = children(set, 'ItemRef');
    const texts: string[] = [];
    for (const ref of refs) {
      const id = needed(this.#context, ref, 'itemRef');
      const item = at.get(id);
      if (item === undefined) {
        this.#context.problems.add(this.#context.place(ref), `Item '${id}' does not exist`);
      }
      this.setItems.push(item ?? 0);
      texts.push(items[item ?? 0]?.attributes['value'] ?? '');
    }
    this.setRows.add(refs.length);
    this.#texts.push(texts);
  }

  numbers(feature: string): Float64Array {
    return Float64Array.from(this.elements, (each) => real(this.#context, each, feature));
  }

  ids(): string[] {
    return this.elements.map((each, i) => each.attributes['id'] ?? String(i + 1));
  }

  sets(side: 'antecedent' | 'consequent'): string[][] {
    const at = side === 'antecedent' ? this.antecedents : this.consequents;
    return at.map((set) => this.#texts[set] ?? []);
  }

  texts(): string[] {
    const consequents = this.sets('consequent');
    return this.sets('antecedent').map(
      (left, i) => `{${left.join(',')}}->{${(consequents[i] ?? []).join(',')}}`,
    );
  }
}

/** A feature of every rule, as attributes of pmml.rule_value. */
function featureOf(rules: Rules, feature: string) {
  if (BASES.includes(feature)) return { numbers: rules.numbers(feature) };
  if (feature === 'ruleId') return { texts: rules.ids() };
  if (feature === 'rule') return { texts: rules.texts() };
  const sets = rules.sets(feature === 'antecedent' ? 'antecedent' : 'consequent');
  const rows = new Rows();
  for (const set of sets) rows.add(set.length);
  return { texts: sets.flat(), text_rows: rows.starts };
}

function valueColumn(output: XmlElement, context: ModelContext, rules: Rules, from: Column) {
  const asked = output.attributes['feature'];
  const named = asked !== undefined && asked !== 'ruleValue' ? asked : undefined;
  const feature = named ?? oneOf(context, output, 'ruleFeature', FEATURES, 'consequent');
  const many = ['1', 'true'].includes(output.attributes['isMultiValued'] ?? '0');
  const sets = feature === 'antecedent' || feature === 'consequent';
  if (many && sets) {
    const reason = `isMultiValued with ${feature} is not supported: it would be a list of lists`;
    context.problems.add(context.place(output), reason);
  }
  const rank = real(context, output, 'rank', 1);
  if (!Number.isInteger(rank) || rank < (many ? 0 : 1)) {
    context.problems.add(context.place(output), `rank="${rank}" is not supported`);
  }
  const basis = oneOf(context, output, 'rankBasis', BASES, 'confidence');
  const order = oneOf(context, output, 'rankOrder', ['descending', 'ascending'], 'descending');
  const element = BASES.includes(feature) ? 'double' : 'string';
  const name = output.attributes['name'] ?? feature;
  const column =
    many || sets ? context.plan.column(name, 'list', element) : context.plan.column(name, element);
  const attributes = {
    rank,
    many,
    keys: rules.numbers(basis),
    descending: order === 'descending',
    ...featureOf(rules, feature),
  };
  const place = context.place(output);
  context.plan.stage('pmml.rule_value', [from], [column], attributes, place);
  return column;
}

export const lowerAssociation: LowerModel = (model, context): ModelResult => {
  const items = children(model, 'Item');
  const inputs = new InputList(context);
  const { pairs, list } = pairsOf(model, context, items, inputs);
  const rules = new Rules(model, context, items);
  if (rules.elements.length === 0 || inputs.columns.length === 0) {
    context.problems.add(context.place(model), 'expected rules and items, got none');
    return {};
  }
  const made = new Map<AssociationAlgorithm, Column>();
  const selected = (output: XmlElement): Column => {
    const fallback = 'exclusiveRecommendation';
    const algorithm = oneOf(context, output, 'algorithm', ASSOCIATION_ALGORITHM, fallback);
    const known = made.get(algorithm);
    if (known !== undefined) return known;
    const column = context.plan.column(`rules of ${algorithm}`, 'list', 'int32');
    const attributes = {
      list,
      algorithms: [algorithm],
      items: items.length,
      pair_items: Int32Array.from(pairs.items),
      pair_inputs: Int32Array.from(pairs.inputs),
      pair_values: { values: pairs.values },
      flag_inputs: Int32Array.from(pairs.flags),
      set_rows: rules.setRows.starts,
      set_items: Int32Array.from(rules.setItems),
      antecedents: Int32Array.from(rules.antecedents),
      consequents: Int32Array.from(rules.consequents),
    };
    const place = context.place(model);
    context.plan.stage('pmml.association', inputs.columns, [column], attributes, place);
    made.set(algorithm, column);
    return column;
  };
  const column = (output: XmlElement) => valueColumn(output, context, rules, selected(output));
  return { rules: { column } };
};
