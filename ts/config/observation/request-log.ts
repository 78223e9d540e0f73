// The request log: flags and their settings. Control plane, start-up only.
import { REQUEST_LOG_FORMATS, type RequestLogSettings } from './request-log-settings.js';
import { echo } from '../../base/text.js';
import { setting, settingValues, TEXT } from '../values/flag-row.js';
import type { SettingsReader } from '../values/settings-reader.js';
import { configError, lastText, type Written } from '../values/values.js';

const path = { kind: 'path' } as const;
/** Megabytes of one file, and files of one log. */
const FILE_MB_MAX = 1_000_000;
const FILES_MAX = 100_000;
const VALUES_MAX = 1_000_000_000;

export const REQUEST_LOG_FLAGS = [
  setting(
    'folder',
    'request-log-dir',
    'DIR',
    path,
    '',
    'log the requests of all models with their responses to files in this folder',
  ),
  setting(
    'sampling',
    'request-log-sampling',
    'RATE',
    TEXT,
    '1',
    'fraction of requests to log, from 0 to 1',
    { read: samplingOf },
  ),
  setting(
    'format',
    'request-log-format',
    'FORMAT',
    { kind: 'choice', choices: REQUEST_LOG_FORMATS },
    'json',
    "json: one line per request; raw: the same with the original bytes; tfrecord: TensorFlow Serving's",
  ),
  setting(
    'values',
    'request-log-values',
    'N',
    TEXT,
    'full',
    'values of each tensor in a JSON line: full, none or a maximum number',
    { read: valuesOf },
  ),
  setting(
    'fileMb',
    'request-log-max-mb',
    'MB',
    { kind: 'int', min: 1, max: FILE_MB_MAX },
    100,
    'start a new request log file when the current one exceeds this size',
  ),
  setting(
    'filesMax',
    'request-log-files',
    'N',
    { kind: 'int', min: 1, max: FILES_MAX },
    10,
    'number of files to keep of each request log; the oldest are deleted',
  ),
] as const;

function samplingOf(from: Written): number {
  const written = lastText(from);
  const rate = /^(\d+\.?\d*|\.\d+)(e-?\d+)?$/i.test(written) ? Number(written) : Number.NaN;
  if (rate >= 0 && rate <= 1) return rate;
  throw configError(from.where, `expected a number from 0 to 1, got ${echo(written)}`);
}

function valuesOf(from: Written): number {
  const written = lastText(from);
  if (written === 'full') return Number.POSITIVE_INFINITY;
  if (written === 'none') return 0;
  if (/^\d{1,10}$/.test(written) && Number(written) <= VALUES_MAX) return Number(written);
  throw configError(
    from.where,
    `expected full, none or a number up to ${VALUES_MAX}, got ${echo(written)}`,
  );
}

/** Errors: InvalidArgument naming the flag. */
export function requestLogSettings(read: SettingsReader): RequestLogSettings {
  const { given } = read;
  const folder = read.filePath('request-log-dir');
  for (const name of ['request-log-sampling', 'request-log-format', 'request-log-values']) {
    const from = given(name);
    if (folder !== undefined || from === undefined) continue;
    throw configError(from.where, 'expected --request-log-dir DIR with it');
  }
  const settings = settingValues(REQUEST_LOG_FLAGS, read);
  const { format, values } = settings;
  const cut = given('request-log-values');
  if (cut !== undefined && format !== 'json' && Number.isFinite(values)) {
    throw configError(cut.where, `expected --request-log-format json with it, got ${format}`);
  }
  return settings;
}
