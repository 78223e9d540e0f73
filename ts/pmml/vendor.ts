// Vendor extensions of PMML, which JPMML writes and reads: attributes that begin with "x-". What of
// them is not honoured is refused when the document loads. Importer's worker thread.
// Source: JPMML-Model 1.7.6
import type { XmlElement } from './xml/reader.js';

/** An attribute of PMML 4.4, or as JPMML has it in documents of earlier versions: with "x-". */
export function extended(element: XmlElement, name: string): string | undefined {
  return element.attributes[name] ?? element.attributes[`x-${name}`];
}
