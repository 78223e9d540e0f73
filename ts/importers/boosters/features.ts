// Limits and texts of features that all boosters share. Importer's worker thread; pure.
import { BOOSTER_FEATURES_MAX } from '../../base/limits.js';

const SHOWN_MAX = 8;

/** Errors: RangeError: none or too many. */
export function checkFeatures(count: number): void {
  if (count >= 1 && count <= BOOSTER_FEATURES_MAX) return;
  throw new RangeError(`expected 1 to ${BOOSTER_FEATURES_MAX} features, got ${count}`);
}

/** "categories: a, b, c" */
export function shownCategories(labels: readonly string[]): string {
  const shown = labels.slice(0, SHOWN_MAX).join(', ');
  const more = labels.length > SHOWN_MAX ? ` and ${labels.length - SHOWN_MAX} more` : '';
  return `categories: ${shown}${more}`;
}
