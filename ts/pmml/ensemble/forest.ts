// Ensembles of plain trees, as one stage `forest`. Importer's worker thread.
// Source: tabular.md 3.2
import type { ModelResult } from '../context.js';
import type { Context } from '../lower.js';
import type { XmlElement } from '../xml.js';

export interface ForestPart {
  readonly element: XmlElement;
  readonly predicate: XmlElement;
  readonly model: XmlElement;
}

/** The result of a forest; undefined: it is none, lower segment by segment. */
export function forestResult(
  _parts: readonly ForestPart[],
  _segmentation: XmlElement,
  _method: string,
  _context: Context,
): ModelResult | undefined {
  return undefined;
}
