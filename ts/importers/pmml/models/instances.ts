// Training instances inside a document (TrainingInstances), as texts by field. Importer's worker
// thread. Source: tabular.md 3.2
import type { ModelContext } from '../context.js';
import { inlineTable } from '../expressions/tables.js';
import { type XmlElement, child, children, localName } from '../xml/reader.js';
import { needed, neededChild } from './reading.js';

export interface Instances {
  readonly count: number;
  readonly fields: readonly string[];
  readonly element: XmlElement;
  /** The field's text of every instance; one that is missing is a problem, and ''. */
  texts(field: string): string[];
  /** The same; undefined where an instance has no such cell. Only a text may be ''. */
  given(field: string, isText: boolean): (string | undefined)[];
  has(field: string): boolean;
}

/** Reads the instances of a model. Undefined: a problem was noted. */
export function readInstances(model: XmlElement, context: ModelContext): Instances | undefined {
  const element = neededChild(context, model, 'TrainingInstances');
  if (element === undefined) return undefined;
  const list = neededChild(context, element, 'InstanceFields');
  const table = inlineTable(element, context.problems);
  if (list === undefined || table === undefined) return undefined;
  const columns = new Map<string, string>();
  for (const each of children(list, 'InstanceField')) {
    const field = needed(context, each, 'field');
    columns.set(field, localName(each.attributes['column'] ?? field));
  }
  const rows = children(table, 'row');
  if (rows.length === 0) {
    context.problems.add(context.place(table), 'has no row');
    return undefined;
  }
  const texts = (field: string): string[] => {
    const column = columns.get(field) ?? '';
    return rows.map((row) => {
      const cell = child(row, column);
      if (cell === undefined || cell.text.trim() === '') {
        context.problems.add(context.place(row), `has no value of '${field}'`);
      }
      return cell?.text ?? '';
    });
  };
  const given = (field: string, isText: boolean) =>
    rows.map((row) => {
      const text = child(row, columns.get(field) ?? '')?.text;
      if (text?.trim() === '' && !isText) {
        context.problems.add(context.place(row), `the value of '${field}' is empty`);
        return undefined;
      }
      return text;
    });
  const has = (field: string) => columns.has(field);
  return { count: rows.length, fields: [...columns.keys()], element, texts, given, has };
}
