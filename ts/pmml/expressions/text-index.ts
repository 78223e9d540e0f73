// TextIndex: how often a term stands in a text. Importer's worker thread. Source: tabular.md 3.3
import { placeOf } from '../document.js';
import type { XmlElement } from '../xml.js';
import { type Filled, type TableContext, fillBy, inlineRows } from './tables.js';

const WEIGHTS = new Set([
  'termFrequency',
  'binary',
  'logarithmic',
  'augmentedNormalizedTermFrequency',
]);

// Attributes that a TextIndexNormalization takes from its TextIndex where it has none itself.
function inherited(element: XmlElement, around: XmlElement, name: string): string | undefined {
  return element.attributes[name] ?? around.attributes[name];
}

function isTrue(text: string | undefined, fallback: boolean): boolean {
  return text === undefined ? fallback : text === 'true' || text === '1';
}

function normalizations(element: XmlElement, { fields }: TableContext) {
  const tables = element.children.filter((each) => each.name === 'TextIndexNormalization');
  return tables.map((table) => {
    const {
      inField = 'string',
      outField = 'stem',
      regexField = 'regex',
      recursive,
    } = table.attributes;
    const rows = inlineRows(table, fields);
    return {
      inputs: rows.map((row) => row.get(inField) ?? ''),
      outputs: rows.map((row) => row.get(outField) ?? ''),
      regexes: rows.map((row) => isTrue(row.get(regexField), false)),
      recursive: isTrue(recursive, false),
      caseSensitive: isTrue(inherited(table, element, 'isCaseSensitive'), false),
      distance: Number(inherited(table, element, 'maxLevenshteinDistance') ?? 0),
      separator: inherited(table, element, 'wordSeparatorCharacterRE') ?? '\\s+',
      tokenize: isTrue(inherited(table, element, 'tokenize'), true),
    };
  });
}

/** Fills a column with the weight of the term. */
export function textIndex(element: XmlElement, context: TableContext): Filled {
  const { problems, plan } = context.fields;
  const field = element.attributes['textField'];
  if (field === undefined) problems.add(placeOf(element), 'has no textField');
  const weights = element.attributes['localTermWeights'] ?? 'termFrequency';
  if (!WEIGHTS.has(weights) || weights === 'augmentedNormalizedTermFrequency') {
    problems.add(placeOf(element), `localTermWeights="${weights}" is not supported`);
  }
  const { countHits = 'allHits' } = element.attributes;
  if (countHits !== 'allHits' && countHits !== 'bestHits') {
    problems.add(placeOf(element), `countHits="${countHits}" is unknown`);
  }
  const inner = element.children.find(
    (each) => each.name !== 'TextIndexNormalization' && each.name !== 'Extension',
  );
  if (inner === undefined) {
    problems.add(placeOf(element), 'has no expression for the term');
    return { column: context.fields.lost(), dataType: 'double' };
  }
  const term = context.term(inner);
  const text = context.column(field ?? '', element);
  const termColumn = plan.derive('term', 'string', term.expression, placeOf(element));
  const tables = normalizations(element, context);
  const flat = <T>(each: (table: (typeof tables)[number]) => readonly T[]) => tables.flatMap(each);
  const dataType = weights === 'logarithmic' ? 'double' : 'integer';
  return fillBy(
    'pmml.text_index',
    [text, termColumn],
    dataType,
    {
      weights,
      best_hits: countHits === 'bestHits',
      case_sensitive: isTrue(element.attributes['isCaseSensitive'], false),
      distance: Number(element.attributes['maxLevenshteinDistance'] ?? 0),
      separator: element.attributes['wordSeparatorCharacterRE'] ?? '\\s+',
      tokenize: isTrue(element.attributes['tokenize'], true),
      table_rows: Int32Array.from(tables, (each) => each.inputs.length),
      table_flags: Int32Array.from(
        flat(({ recursive, caseSensitive, distance }) => [
          recursive ? 1 : 0,
          caseSensitive ? 1 : 0,
          distance,
        ]),
      ),
      table_separators: tables.map((each) => each.separator),
      row_inputs: flat((each) => each.inputs),
      row_outputs: flat((each) => each.outputs),
      row_regexes: Int32Array.from(flat((each) => each.regexes.map((one) => (one ? 1 : 0)))),
    },
    element,
    context,
  );
}
