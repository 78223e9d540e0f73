// The flag --header of the commands that call servers. Control plane, start-up only; pure.
import { echo } from '../base/text.js';
import { TEXT_LIST, flag } from '../config/values/flag-row.js';
import { configError } from '../config/values/values.js';

export const HEADER = flag(
  'header',
  'NAME: VALUE',
  TEXT_LIST,
  '',
  'header sent to the URL, for keys; may be repeated',
);

/** Name and value of one --header. Errors: InvalidArgument. */
export function headerOf(text: string): readonly [string, string] {
  const [, name, value] = /^([\w-]+):[ \t]*([\x20-\x7e]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw configError('--header', `expected NAME: VALUE, got ${echo(text)}`);
  }
  return [name, value];
}
