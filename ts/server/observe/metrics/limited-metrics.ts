// Metrics for callers whose key is limited to some models. Pure; control plane.
import { mayUse } from '../../../access/model-patterns.js';

/** The names that a sample of a metric is about. */
const METRIC_NAMES = /[{,](model|model_name|models|key)="((?:[^"\\]|\\.)*)"/g;

function unescaped(label: string): string {
  return label.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one));
}

/** The lines of metrics that are not about other models or other keys. */
export function limitedMetrics(text: string, models: readonly string[], key: string): string {
  const isOpen = (line: string): boolean =>
    line.startsWith('#') ||
    [...line.matchAll(METRIC_NAMES)].every(([, label = '', value = '']) => {
      const name = unescaped(value);
      if (label === 'key') return name === key;
      if (label === 'models') return name.split(',').every((one) => mayUse(models, one.trim()));
      return mayUse(models, name);
    });
  return text.split('\n').filter(isOpen).join('\n');
}
