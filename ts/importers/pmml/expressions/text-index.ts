// TextIndex: counts how often a term occurs in a text. Importer's worker thread. Source: tabular.md
// 3.3
import { isWord } from '../../plan/attributes.js';
import { TERM_WEIGHTS } from '../../plan/generated/stages.js';
import type { Problems } from '../../plan/problems.js';
import { placeOf } from '../document.js';
import { type XmlElement, children, localName } from '../xml/reader.js';
import { type Filled, type TableContext, fillBy, inlineRows } from './tables.js';

function isTrue(text: string | undefined, fallback: boolean): boolean {
  return text === undefined ? fallback : text === 'true' || text === '1';
}

// A text as the expression of itself alone: Pattern.quote().
function quoted(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}

interface Rules {
  readonly patterns: string[];
  readonly replacements: string[];
  /** The first row of each table, and the end of the last. */
  readonly rows: number[];
  readonly recursive: number[];
}

// JPMML replaces in the whole text: words, distances and tokenize say nothing here.
function addRules(table: XmlElement, into: Rules, isCaseSensitive: boolean, problems: Problems) {
  const { attributes } = table;
  const column = (name: string, fallback: string) => localName(attributes[name] ?? fallback);
  const from = column('inField', 'string');
  const to = column('outField', 'stem');
  const regex = column('regexField', 'regex');
  const sensitive = isTrue(attributes['isCaseSensitive'], isCaseSensitive);
  const hasTable = table.children.some((each) => /^(InlineTable|TableLocator)$/.test(each.name));
  for (const [i, row] of (hasTable ? inlineRows(table, problems) : []).entries()) {
    const given = row.get(from);
    const stem = row.get(to);
    if (given === undefined || stem === undefined) {
      const missing = given === undefined ? from : to;
      problems.add(placeOf(table), `row ${i + 1} has no column '${missing}'`);
      continue;
    }
    const pattern = row.get(regex)?.toLowerCase() === 'true' ? given : quoted(given);
    into.patterns.push(sensitive ? pattern : `(?iu)${pattern}`);
    into.replacements.push(stem);
  }
  into.rows.push(into.patterns.length);
  into.recursive.push(isTrue(attributes['recursive'], false) ? 1 : 0);
}

function rulesOf(element: XmlElement, problems: Problems) {
  const rules: Rules = { patterns: [], replacements: [], rows: [0], recursive: [] };
  const isCaseSensitive = isTrue(element.attributes['isCaseSensitive'], false);
  for (const table of children(element, 'TextIndexNormalization')) {
    addRules(table, rules, isCaseSensitive, problems);
  }
  if (rules.patterns.length === 0) return {};
  return {
    rule_patterns: rules.patterns,
    rule_replacements: rules.replacements,
    rule_rows: Int32Array.from(rules.rows),
    rule_recursive: Int32Array.from(rules.recursive),
  };
}

function distanceOf(element: XmlElement, problems: Problems): number {
  for (const each of [element, ...children(element, 'TextIndexNormalization')]) {
    const text = each.attributes['maxLevenshteinDistance'] ?? '0';
    if (/^\+?\d+$/.test(text.trim()) && Number(text) <= 0x7fff_ffff) continue;
    problems.add(placeOf(each), `maxLevenshteinDistance="${text}" is not 0 or more`);
    return 0;
  }
  return Number(element.attributes['maxLevenshteinDistance'] ?? 0);
}

/** Fills a column with the weight of the term. */
export function textIndex(element: XmlElement, context: TableContext): Filled {
  const { problems, plan } = context.fields;
  const field = element.attributes['textField'];
  if (field === undefined) problems.add(placeOf(element), 'has no textField');
  const said = element.attributes['localTermWeights'] ?? 'termFrequency';
  const weights = isWord(TERM_WEIGHTS, said) ? said : 'termFrequency';
  if (weights !== said) {
    problems.add(placeOf(element), `localTermWeights="${said}" is not supported`);
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
      distance: distanceOf(element, problems),
      // The flag u alone, as scikit-learn writes it, changes nothing: it is of the flag i.
      word: (element.attributes['x-wordRE'] ?? '').replace(/^\(\?u\)/, ''),
      separator: element.attributes['wordSeparatorCharacterRE'] ?? '\\s+',
      tokenize: isTrue(element.attributes['tokenize'], true),
      ...rulesOf(element, problems),
    },
    element,
    context,
  );
}
