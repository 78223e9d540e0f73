// The flags of `serval predict`. Data only; control plane.
import { HEADER } from '../header-flag.js';
import { flag, BOOL, TEXT, TEXT_LIST } from '../../config/values/flag-row.js';
import { type FlagRow } from '../../config/values/flag-row.js';
import { SERVE_FLAGS } from '../../config/flags.js';
import { MODEL_SETTINGS } from '../../library/settings.js';

const whole = (min: number, max: number) => ({ kind: 'int', min, max }) as const;
export const BATCH = flag(
  'batch',
  'N',
  whole(1, 1_000_000),
  1,
  '--random: size of a dynamic first dimension',
);
export const SEED = flag('seed', 'N', whole(0, 4_294_967_295), 1, '--random: seed of the values');

export const PREDICT_FLAGS: readonly FlagRow[] = [
  flag(
    'input',
    'NAME=VALUE',
    TEXT_LIST,
    '',
    'JSON, @file.json, .npy, .png or .jpg, @file (BYTES); or @request.json',
  ),
  flag('random', '', BOOL, 'false', 'random values for inputs that --input does not give'),
  BATCH,
  SEED,
  flag('output', 'NAME', TEXT_LIST, '', 'output to return; may be repeated (default: all)'),
  flag('json', '', BOOL, 'false', 'print one JSON object'),
  flag('model', 'NAME', TEXT, '', 'model name, if PATH or the URL has several'),
  flag('model-version', 'V', TEXT, '', 'version (default: the highest)'),
  flag('signature', 'NAME', TEXT, '', 'signature of a TensorFlow model (default: serving_default)'),
  HEADER,
  ...SERVE_FLAGS.filter((row) => MODEL_SETTINGS.includes(row.name)),
];
