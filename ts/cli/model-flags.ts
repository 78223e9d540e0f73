// Flags of `serval inspect` and `serval import`. Control plane, start-up only; data only.
import { SERVE_FLAGS } from '../config/flags.js';
import { flag, type FlagRow } from '../config/values/flag-row.js';

const text = (name: string, value: string, help: string): FlagRow =>
  flag(name, value, { kind: 'text' }, '', help);
const ofServe = (...names: readonly string[]): readonly FlagRow[] =>
  SERVE_FLAGS.filter((row) => names.includes(row.name));

export const INSPECT_FLAGS: readonly FlagRow[] = [
  flag(
    'json',
    'BOOL',
    { kind: 'bool' },
    'false',
    'print JSON: an object, or a list for several models',
  ),
  ...ofServe('onnxruntime-library', 'operator-libraries', 'saved-model-tags', 'allow-random'),
];

/** The flag of `serval check`, and those of `serve` that select models; all are accepted. */
export const CHECK_FLAGS: readonly FlagRow[] = [
  flag('json', '', { kind: 'bool' }, 'false', 'print one JSON object'),
  ...ofServe('model-repository', 'model-config-file', 'model-base-path', 'model-name', 'config'),
  ...ofServe('onnxruntime-library', 'operator-libraries', 'saved-model-tags', 'allow-random'),
];

export const IMPORT_FLAGS: readonly FlagRow[] = [
  text('out', 'FILE', 'ONNX file to write; constants go to FILE.data'),
  text('signature', 'NAME', 'only this signature (default: all, one file each)'),
  ...ofServe('saved-model-tags', 'allow-random'),
];
