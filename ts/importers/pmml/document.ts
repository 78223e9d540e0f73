// A PMML document: version, dictionaries, functions and the model element, whichever PMML version
// wrote it. Importer's worker thread. Source: tabular.md 3.1
import type { Problems } from '../plan/problems.js';
import type { FieldInfo, Optype } from './context.js';
import { builtInName } from './expressions/functions.js';
import { isModel } from './model-names.js';
import { normalDataType, planType } from './types.js';
import { type XmlElement, child, children } from './xml/reader.js';

export interface DataField extends FieldInfo {
  readonly name: string;
  readonly element: XmlElement;
  readonly displayName?: string;
  /** Texts with property missing or invalid. */
  readonly missingValues: readonly string[];
  readonly invalidValues: readonly string[];
  /** left, right, left closed, right closed. */
  readonly intervals: readonly (readonly [number, number, boolean, boolean])[];
  /** By value. */
  readonly displayValues: ReadonlyMap<string, string>;
}

export interface PmmlDocument {
  readonly version: string;
  readonly producer: string;
  readonly dataFields: ReadonlyMap<string, DataField>;
  readonly derivedFields: ReadonlyMap<string, XmlElement>;
  readonly functions: ReadonlyMap<string, XmlElement>;
  readonly model: XmlElement;
  /** Whether the document distinguishes valid values; if not, invalid ones are not tracked. */
  readonly asksValidity: boolean;
  /** Fields of which a row has a list: an Aggregate reads them, or they are grouped items. */
  readonly lists: ReadonlySet<string>;
}

/** "line 12 <TreeModel modelName>". */
export function placeOf(element: XmlElement): string {
  const { attributes } = element;
  const name = attributes['name'] ?? attributes['modelName'] ?? attributes['field'];
  const shown = name === undefined ? '' : ` '${name.slice(0, 100)}'`;
  return `line ${element.line} <${element.name}>${shown}`;
}

/** Elements by their name attribute. Notes what is named twice. */
export function byName(
  elements: readonly XmlElement[],
  problems: Problems,
): Map<string, XmlElement> {
  const found = new Map<string, XmlElement>();
  for (const element of elements) {
    const name = element.attributes['name'];
    if (name === undefined) problems.add(placeOf(element), 'has no name');
    else if (found.has(name)) problems.add(placeOf(element), `'${name}' is declared twice`);
    else found.set(name, element);
  }
  return found;
}

function margin(element: XmlElement, name: string, fallback: number, problems: Problems): number {
  const text = element.attributes[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) {
    problems.add(placeOf(element), `${name}="${text}" is not a number`);
  }
  return value;
}

/** An Interval: margins, and whether they belong to it. */
export function readInterval(
  element: XmlElement,
  problems: Problems,
): readonly [number, number, boolean, boolean] {
  const closure = element.attributes['closure'] ?? 'openOpen';
  if (!/^(open|closed)(Open|Closed)$/.test(closure)) {
    problems.add(placeOf(element), `closure="${closure}" is unknown`);
  }
  return [
    margin(element, 'leftMargin', Number.NEGATIVE_INFINITY, problems),
    margin(element, 'rightMargin', Number.POSITIVE_INFINITY, problems),
    closure.startsWith('closed'),
    closure.endsWith('Closed'),
  ];
}

/** The optype attribute, or what a data type usually is. */
export function optypeOf(text: string | undefined, dataType: string): Optype {
  if (text === 'continuous' || text === 'categorical' || text === 'ordinal') return text;
  if (dataType === 'string' || dataType === 'boolean') return 'categorical';
  return 'continuous';
}

function readDataField(element: XmlElement, problems: Problems): DataField {
  const name = element.attributes['name'] ?? '';
  const optype = element.attributes['optype'];
  // PMML 3.0 documents may leave the data type out.
  const dataType = normalDataType(
    element.attributes['dataType'] ?? (optype === 'continuous' ? 'double' : 'string'),
  );
  if (planType(dataType) === undefined) {
    problems.add(placeOf(element), `data type ${dataType} is not supported`);
  }
  if (element.attributes['isCyclic'] === '1') {
    problems.add(placeOf(element), 'cyclic fields are not supported');
  }
  const listed = children(element, 'Value');
  const having = (property: string) =>
    listed
      .filter((each) => (each.attributes['property'] ?? 'valid') === property)
      .map((each) => each.attributes['value'] ?? '');
  const displayValues = new Map<string, string>();
  for (const { attributes } of listed) {
    const { value, displayValue } = attributes;
    if (value !== undefined && displayValue !== undefined) displayValues.set(value, displayValue);
  }
  const displayName = element.attributes['displayName'];
  return {
    name,
    element,
    dataType,
    optype: optypeOf(optype, dataType),
    values: having('valid'),
    missingValues: having('missing'),
    invalidValues: having('invalid'),
    intervals: children(element, 'Interval').map((each) => readInterval(each, problems)),
    displayValues,
    ...(displayName === undefined || displayName === '' ? {} : { displayName }),
  };
}

// The active fields of an AssociationModel with grouped rows.
function groupedItems(model: XmlElement): string[] {
  const schema = child(model, 'MiningSchema');
  const fields = schema === undefined ? [] : children(schema, 'MiningField');
  const used = (use: string) =>
    fields.filter((each) => (each.attributes['usageType'] ?? 'active') === use);
  if (used('group').length === 0) return [];
  return used('active').map((each) => each.attributes['name'] ?? '');
}

// Whether the result of an Apply may depend on the validity of a field's value: it tests the value
// or passes it on.
function tellsValidity({ attributes, children }: XmlElement): boolean {
  const called = attributes['function'] ?? '';
  const name = builtInName(called);
  if (name === undefined || /isValid|isNotValid/.test(called)) return true;
  return name === 'if' && children.some((each, i) => i > 0 && each.name === 'FieldRef');
}

// Collects the facts that any element of the document determines about its fields.
function survey(root: XmlElement): Pick<PmmlDocument, 'asksValidity' | 'lists'> {
  const lists = new Set<string>();
  let asksValidity = false;
  const waiting = [root];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, attributes } = next;
    if (name === 'Apply') asksValidity ||= tellsValidity(next);
    else if (name === 'Aggregate') lists.add(attributes['field'] ?? '');
    else if (name === 'AssociationModel') groupedItems(next).forEach((each) => lists.add(each));
    for (const each of next.children) waiting.push(each);
  }
  return { asksValidity, lists };
}

function readVersion(root: XmlElement, problems: Problems): string {
  const version = root.attributes['version'] ?? '';
  if (!/^(3\.[0-2]|4(\.[0-4])?)(\.\d+)?$/.test(version)) {
    problems.add(placeOf(root), `PMML version "${version}" is not one of 3.0 to 4.4`);
  }
  return version;
}

/** Reads the parts around the model. Faults are recorded in problems. */
export function readDocument(root: XmlElement, problems: Problems): PmmlDocument | undefined {
  if (root.name !== 'PMML') {
    problems.add(placeOf(root), `the root element is <${root.name}>, expected <PMML>`);
    return undefined;
  }
  const version = readVersion(root, problems);
  const header = child(root, 'Header');
  const application = header === undefined ? undefined : child(header, 'Application');
  const { name = '', version: applicationVersion = '' } = application?.attributes ?? {};
  const dictionary = child(root, 'DataDictionary');
  if (dictionary === undefined) problems.add(placeOf(root), 'has no DataDictionary');
  const fields = byName(
    dictionary === undefined ? [] : children(dictionary, 'DataField'),
    problems,
  );
  const dataFields = new Map<string, DataField>();
  for (const [field, element] of fields) dataFields.set(field, readDataField(element, problems));
  const transformations = child(root, 'TransformationDictionary');
  const inside = (kind: string) =>
    byName(transformations === undefined ? [] : children(transformations, kind), problems);
  const model = root.children.find((each) => isModel(each.name));
  if (model === undefined) {
    const names = root.children.map((each) => each.name).filter((each) => each.endsWith('Model'));
    const shown = names.length === 0 ? '' : ` (${names.slice(0, 5).join(', ')} is not supported)`;
    problems.add(placeOf(root), `has no supported model element${shown}`);
    return undefined;
  }
  return {
    version,
    producer: `PMML ${version} ${name} ${applicationVersion}`.trim(),
    dataFields,
    derivedFields: inside('DerivedField'),
    functions: inside('DefineFunction'),
    model,
    ...survey(root),
  };
}
