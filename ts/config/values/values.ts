// Turns the text of one setting into its value. Pure; control plane, start-up only.
import type { FlagRow } from './flag-row.js';
import { ServalError, invalidArgument } from '../../base/errors.js';
import { MEMORY_LIMIT_MIN } from '../../base/limits.js';
import type { ProviderOptions } from '../../model/engine-api.js';
import { echo, meant } from '../../base/text.js';

/**
 * The text of one setting. `where` names its origin in errors ("--http-port", "serval.yaml:3:7:
 * http-port"); relative paths are resolved against `folder`.
 */
export interface Written {
  readonly where: string;
  readonly texts: readonly string[];
  readonly folder: string;
}

const GRAPH_OPTIMIZATION: Readonly<Record<string, number>> = {
  none: 0,
  basic: 1,
  extended: 2,
  all: 99,
  '0': 0,
  '1': 1,
  '2': 2,
  '99': 99,
};

export function configError(where: string, message: string): ServalError {
  return invalidArgument(where, message);
}

/** Returns the effective text: the last one if a flag was repeated. */
export function lastText(written: Written): string {
  return written.texts.at(-1) ?? '';
}

/** Errors: InvalidArgument unless it is a whole decimal number in the row's range. */
export function intValue(row: FlagRow, written: Written): number {
  const text = lastText(written);
  const { type } = row;
  if (type.kind !== 'int') throw new TypeError(`${row.name} is not a number`);
  const value = Number(text);
  if (/^-?\d{1,15}$/.test(text) && value >= type.min && value <= type.max) return value;
  throw configError(
    written.where,
    `expected a whole number from ${type.min} to ${type.max}, got ${echo(text)}`,
  );
}

/** Errors: InvalidArgument unless it is auto or a whole decimal number in the range. */
export function intOrAutoValue(
  { min, max }: { readonly min: number; readonly max: number },
  written: Written,
): number | 'auto' {
  const text = lastText(written);
  if (text.toLowerCase() === 'auto') return 'auto';
  const value = Number(text);
  if (/^-?\d{1,15}$/.test(text) && value >= min && value <= max) return value;
  throw configError(
    written.where,
    `expected auto or a whole number from ${min} to ${max}, got ${echo(text)}`,
  );
}

/**
 * Parses a number of bytes: 268435456, 256M, 4G (powers of 1024), or 0. Errors: InvalidArgument
 * when it is not such a number, or is below MEMORY_LIMIT_MIN.
 */
export function sizeValue(written: Written): number {
  const text = lastText(written);
  const [, digits = '', unit = ''] = /^(\d{1,15})([KMGT]?)(?:i?B)?$/i.exec(text) ?? [];
  const power = unit === '' ? 0 : 'KMGT'.indexOf(unit.toUpperCase()) + 1;
  const bytes = Number(digits) * 1024 ** power;
  if (digits !== '' && (bytes === 0 || bytes >= MEMORY_LIMIT_MIN) && Number.isSafeInteger(bytes)) {
    return bytes;
  }
  throw configError(
    written.where,
    `expected a size of at least 16M such as 512M or 4G, or 0, got ${echo(text)}`,
  );
}

const TRUE_WORDS = new Set(['true', 'on', '1']);
const FALSE_WORDS = new Set(['false', 'off', '0']);

/**
 * Parses a switch as TensorFlow Serving, Triton and gRPC spell it, in any case; undefined: not a
 * switch.
 */
export function switchOf(text: string): boolean | undefined {
  const word = text.toLowerCase();
  if (TRUE_WORDS.has(word)) return true;
  return FALSE_WORDS.has(word) ? false : undefined;
}

/** Errors: InvalidArgument for anything but true, on, 1, false, off, 0. */
export function boolValue(written: Written): boolean {
  const text = lastText(written);
  const value = switchOf(text);
  if (value !== undefined) return value;
  throw configError(written.where, `expected true (on, 1) or false (off, 0), got ${echo(text)}`);
}

/** Matches in any case. Errors: InvalidArgument naming the choices. */
export function choiceValue<T extends string>(choices: readonly T[], written: Written): T {
  const text = lastText(written);
  const found = choices.find((choice) => choice === text.toLowerCase());
  if (found !== undefined) return found;
  const expected = `expected ${choices.join(' or ')}, got ${echo(text)}`;
  throw configError(written.where, `${expected}${meant(text, choices)}`);
}

/** Errors: InvalidArgument when empty. */
export function textValue(written: Written): string {
  const text = lastText(written);
  if (text === '' || text.includes('\0')) {
    throw configError(written.where, `expected a value, got ${echo(text)}`);
  }
  return text;
}

/** Parses words such as "serve,gpu"; an empty word is invalid. Errors: InvalidArgument. */
export function wordsValue(written: Written): readonly string[] {
  const text = lastText(written);
  return (text === '' ? text : textValue(written))
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** ONNX Runtime's level: 0, 1, 2 or 99. */
export function graphOptimizationValue(written: Written): number {
  const text = lastText(written);
  const level = Object.hasOwn(GRAPH_OPTIMIZATION, text) ? GRAPH_OPTIMIZATION[text] : undefined;
  if (level !== undefined) return level;
  const known = 'none, basic, extended, all or 0, 1, 2, 99';
  const near = meant(text, Object.keys(GRAPH_OPTIMIZATION));
  throw configError(written.where, `expected ${known}, got ${echo(text)}${near}`);
}

/**
 * Permissions of a file that its owner may read and write, in octal digits. Errors:
 * InvalidArgument.
 */
export function modeValue(written: Written): number {
  const text = lastText(written);
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : 0;
  if ((mode & 0o600) === 0o600) return mode;
  throw configError(written.where, `expected a mode such as 0700 or 0770, got ${echo(text)}`);
}

/**
 * Parses `name[:key=value[;key=value]]`, separated by commas; several texts are joined. Empty =
 * none; `auto` must be the only one. Errors: InvalidArgument for an empty or repeated name and for
 * an option without "=".
 */
export function providersValue(written: Written): readonly ProviderOptions[] {
  const parts = written.texts.filter((text) => text !== '').flatMap((text) => text.split(','));
  const providers = parts.map((part) => providerValue(part.trim(), written.where));
  const names = providers.map((provider) => provider.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw configError(written.where, `provider ${echo(twice)} is listed twice`);
  }
  const auto = providers.find(({ name }) => name === 'auto');
  if (auto !== undefined && (providers.length > 1 || Object.keys(auto.options).length > 0)) {
    throw configError(written.where, 'expected auto alone and without options');
  }
  return providers;
}

function providerValue(part: string, where: string): ProviderOptions {
  const colon = part.indexOf(':');
  const name = colon < 0 ? part : part.slice(0, colon);
  if (!/^[A-Za-z][A-Za-z0-9_-]*$/.test(name)) {
    throw configError(where, `expected provider names such as cuda,cpu, got ${echo(part)}`);
  }
  const options = new Map<string, string>();
  const pairs = colon < 0 ? [] : part.slice(colon + 1).split(';');
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw configError(where, `expected key=value, got ${echo(pair)}`);
    options.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  const names = [...options.keys()];
  const setByServer = names.length === 0 ? {} : { setByServer: names };
  return { name, options: Object.fromEntries(options), ...setByServer };
}
