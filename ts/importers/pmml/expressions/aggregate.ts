// Aggregate: one number computed from the list that a field has in a row. The standard aggregates
// over the rows of a table; as in JPMML, the caller sends the values as one list per row.
// Importer's worker thread. Source: tabular.md 3.3
import { isWord } from '../../plan/attributes.js';
import { AGGREGATE_FUNCTION } from '../../plan/generated/stages.js';
import { placeOf } from '../document.js';
import { isNumeric } from '../types.js';
import type { XmlElement } from '../xml/reader.js';
import { type Filled, type TableContext, fillBy } from './tables.js';

function resultType(name: string, dataType: string): string {
  if (name === 'count') return 'integer';
  return name === 'average' && dataType === 'integer' ? 'double' : dataType;
}

/** Fills a column with what the function makes of the field's values. */
export function aggregate(element: XmlElement, context: TableContext): Filled {
  const { problems } = context.fields;
  const problem = (reason: string) => problems.add(placeOf(element), reason);
  const { field = '', function: name = '', groupField, sqlWhere } = element.attributes;
  const dataType = context.dataType(field);
  const column = context.list(field, element);
  if (name === 'multiset')
    problem('function="multiset" is not supported: its result is not a number');
  else if (!isWord(AGGREGATE_FUNCTION, name)) problem(`function="${name}" is unknown`);
  else if (name !== 'count' && !isNumeric(dataType)) {
    problem(`function="${name}" requires a number, but field '${field}' is not one`);
  }
  if (groupField !== undefined) {
    problem('groupField is not supported: the values of a row form one group');
  }
  if (sqlWhere !== undefined) problem('sqlWhere is not supported');
  const attributes = { function: isWord(AGGREGATE_FUNCTION, name) ? name : 'count' } as const;
  return fillBy(
    'pmml.aggregate',
    [column],
    resultType(name, dataType),
    attributes,
    element,
    context,
  );
}
