// Vendor extensions of PMML, which JPMML writes and reads: attributes that begin with "x-" and
// elements that begin with "X-". The document does not load where one of them is not honoured.
// Importer's worker thread. Source: JPMML-Model 1.7.6
import type { Problems } from '../plan/problems.js';
import { isModel } from './model-names.js';
import { type VendorMarkup, type XmlElement, isVendorElement } from './xml/reader.js';

/** Whether a model element computes with floats: x-mathContext="float". */
export function isFloat(model: XmlElement): boolean {
  return model.attributes['x-mathContext'] === 'float';
}

/** A number as a model element keeps it. */
export function keptNumber(model: XmlElement, value: number): number {
  return isFloat(model) ? Math.fround(value) : value;
}

/** An attribute of PMML 4.4, or as JPMML has it in documents of earlier versions: with "x-". */
export function extended(element: XmlElement, name: string): string | undefined {
  return element.attributes[name] ?? element.attributes[`x-${name}`];
}

const FLOATS = new Set(['MiningModel', 'RegressionModel', 'TreeModel']);
// Attributes of PMML 4.4 that JPMML wrote with "x-" before.
const EARLY: Readonly<Record<string, string>> = {
  'x-missingPredictionTreatment': 'Segmentation',
  'x-missingThreshold': 'Segmentation',
  'x-invalidValueReplacement': 'MiningField',
};
const HONOURED: Readonly<Record<string, readonly string[]>> = {
  'x-baseVersion': ['PMML'], // which version the document was converted from
  'x-leakage': ['NeuralNetwork', 'NeuralLayer'],
  'x-reportField': ['OutputField'],
  'x-wordRE': ['TextIndex', 'TextIndexNormalization'],
};
// Elements that hold an expression.
const HOLDERS = new Set([
  'Apply',
  'ComplexPartialScore',
  'DefineFunction',
  'DerivedField',
  'OutputField',
  'TextIndex',
]);

// Why an attribute cannot be honoured.
function refusal(element: string, name: string, value: string, version: string) {
  if (HONOURED[name]?.includes(element) === true) return undefined;
  if (EARLY[name] === element) {
    const isLate = /^4\.4/.test(version);
    return isLate ? `is an attribute of earlier versions, expected ${name.slice(2)}` : undefined;
  }
  if (name === 'x-mathContext' && isModel(element)) {
    if (value === 'double' || (value === 'float' && FLOATS.has(element))) return undefined;
  }
  return 'is a vendor attribute that is not supported';
}

/** A vendor element or attributes, with the name of the element around it. */
export interface Found extends VendorMarkup {
  readonly parent: string | undefined;
}

/** Notes what vendors added to an element, or the element that they added, where it is not
 * honoured. */
export function checkVendor(found: Found, version: string, problems: Problems): void {
  if (isVendorElement(found.element)) {
    const isError = found.element === 'X-Error' && HOLDERS.has(found.parent ?? '');
    const reason = `is a vendor element that is not supported in <${found.parent ?? ''}>`;
    if (!isError) problems.add(`line ${found.line} <${found.element}>`, reason);
  }
  for (const [name, value] of found.attributes) {
    const reason = refusal(found.element, name, value, version);
    if (reason === undefined) continue;
    problems.add(`line ${found.line} <${found.element}>`, `${name}="${value}" ${reason}`);
  }
}

// Parts of a document that have no effect on its results.
const REMARKS = new Set([
  'Annotation',
  'Extension',
  'Header',
  'InlineTable', // its cells have arbitrary names
  'MiningBuildTask',
  'ModelExplanation',
  'ModelStats',
]);

/** Whether an element inside these may change the results of the document. */
export function mayDecide(around: readonly string[]): boolean {
  return !around.some((each) => REMARKS.has(each));
}
