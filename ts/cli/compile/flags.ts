// The flags of `serval compile`. Data only; control plane.
import { SERVE_FLAGS } from '../../config/flags.js';
import { flag, TEXT, type FlagRow } from '../../config/values/flag-row.js';
import { MODEL_SETTINGS } from '../../library/settings.js';

export const COMPILE_FLAGS: readonly FlagRow[] = [
  flag('out', 'DIR', TEXT, '', 'folder to write; it must not exist'),
  flag('model', 'NAME', TEXT, '', 'model name, if PATH has several'),
  flag('model-version', 'V', TEXT, '', 'version (default: the highest)'),
  flag('signature', 'NAME', TEXT, '', 'first signature of a TensorFlow model'),
  ...SERVE_FLAGS.filter((row) => MODEL_SETTINGS.includes(row.name)),
];
