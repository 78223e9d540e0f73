// TextIndex: how often a term stands in a text. Importer's worker thread. Source: tabular.md 3.3
import { placeOf } from '../document.js';
import type { XmlElement } from '../xml/reader.js';
import { type Filled, type TableContext, fillBy } from './tables.js';

const WEIGHTS = new Set([
  'termFrequency',
  'binary',
  'logarithmic',
  'augmentedNormalizedTermFrequency',
]);

function isTrue(text: string | undefined, fallback: boolean): boolean {
  return text === undefined ? fallback : text === 'true' || text === '1';
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
  for (const table of element.children.filter((each) => each.name === 'TextIndexNormalization')) {
    problems.add(placeOf(table), 'is not supported');
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
  const termColumn = plan.deriveLate('term', 'string', term.expression, placeOf(element));
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
      // The flag u alone, as scikit-learn writes it, changes nothing: it is of the flag i.
      word: (element.attributes['x-wordRE'] ?? '').replace(/^\(\?u\)/, ''),
      separator: element.attributes['wordSeparatorCharacterRE'] ?? '\\s+',
      tokenize: isTrue(element.attributes['tokenize'], true),
    },
    element,
    context,
  );
}
