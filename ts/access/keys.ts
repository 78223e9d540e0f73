// API keys: reads the file that lists them (as SHA-256, never the keys themselves) and makes new
// ones. Control plane.
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { invalidArgument } from '../base/errors.js';
import { ACCESS_KEYS_MAX, CONFIG_FILE_BYTES_MAX } from '../base/limits.js';
import { echo } from '../base/text.js';
import { GROUP_WORDS, groupsOf, type CallGroup } from './groups.js';
import { readKeyLimits, type KeyLimits } from './key-limits.js';

export interface ApiKey extends KeyLimits {
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal digits. */
  readonly digest: string;
  readonly groups: readonly CallGroup[];
  /**
   * Set while the server runs if there are several keys, or this one has limits: its number in the
   * engine's CallerTable.
   */
  readonly caller?: number;
}

const KEY_BYTES = 32;
const NAME = /^[A-Za-z0-9._@-]{1,64}$/;
const DIGEST = /^sha256:([0-9a-f]{64})$/i;
const FORM = '"NAME sha256:HEX GROUP[,GROUP...] [LIMIT=VALUE...]"';

/** SHA-256 in hexadecimal digits. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Parses group words separated by commas. Errors: InvalidArgument naming the word. */
export function readGroups(text: string, where: string): readonly CallGroup[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const groups = words.flatMap((word) => {
    const named = groupsOf(word);
    if (named !== undefined) return named;
    throw invalidArgument(where, `expected groups of ${GROUP_WORDS.join(', ')}, got ${echo(word)}`);
  });
  return [...new Set(groups)];
}

/**
 * Parses a key file's text: one key per line, with its groups and then its limits; empty lines and
 * text after # are ignored. A file without keys is valid: removing the last key closes every call
 * that needs one. Errors: InvalidArgument naming file and line. The error never repeats a part of a
 * digest.
 */
export function parseKeys(text: string, path: string): readonly ApiKey[] {
  const keys: ApiKey[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const written = (line.split('#', 1)[0] ?? '').trim();
    if (written === '') continue;
    const where = `${path}:${index + 1}`;
    const [name = '', digestWord = '', ...rest] = written.split(/\s+/);
    const digest = DIGEST.exec(digestWord)?.[1]?.toLowerCase();
    if (!NAME.test(name))
      throw invalidArgument(where, `expected ${FORM}, got the name ${echo(name)}`);
    if (digest === undefined) {
      throw invalidArgument(
        where,
        `expected ${FORM}, got no sha256: with 64 digits after the name`,
      );
    }
    const firstLimit = rest.findIndex((word) => word.includes('='));
    const words = firstLimit < 0 ? rest : rest.slice(0, firstLimit);
    const groups = readGroups(words.join(' '), where);
    if (groups.length === 0) throw invalidArgument(where, `expected ${FORM}, got no group`);
    if (keys.some((key) => key.name === name))
      throw invalidArgument(where, `key ${name} is there twice`);
    if (keys.some((key) => key.digest === digest)) {
      throw invalidArgument(where, `key ${name} is the same key as another line's`);
    }
    const limits = firstLimit < 0 ? {} : readKeyLimits(rest.slice(firstLimit), where);
    keys.push({ name, digest, groups, ...limits });
  }
  if (keys.length > ACCESS_KEYS_MAX) {
    throw invalidArgument(path, `expected at most ${ACCESS_KEYS_MAX} keys, got ${keys.length}`);
  }
  return keys;
}

/** Errors: InvalidArgument: unreadable, too large, or an error of parseKeys(). */
export function readKeyFile(path: string): readonly ApiKey[] {
  return parseKeys(readBounded(path), path);
}

function readBounded(path: string): string {
  const bytes = Buffer.alloc(CONFIG_FILE_BYTES_MAX + 1);
  let used = 0;
  try {
    const file = openSync(path, 'r');
    try {
      for (;;) {
        const read = readSync(file, bytes, used, bytes.length - used, null);
        used += read;
        if (read === 0 || used === bytes.length) break;
      }
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw invalidArgument(path, `cannot read the key file: ${(error as Error).message}`);
  }
  if (used < bytes.length) return bytes.toString('utf8', 0, used);
  throw invalidArgument(path, `expected at most ${CONFIG_FILE_BYTES_MAX} bytes of keys`);
}

/** Returns a new key and its line for the file. Errors: InvalidArgument: name, groups. */
export function makeKey(name: string, groups: string): { readonly key: string; line: string } {
  if (!NAME.test(name)) {
    throw invalidArgument(
      'NAME',
      `expected letters, digits and ._@- (64 at most), got ${echo(name)}`,
    );
  }
  if (readGroups(groups, 'GROUPS').length === 0) {
    throw invalidArgument('GROUPS', `expected groups of ${GROUP_WORDS.join(', ')}, got none`);
  }
  const key = randomBytes(KEY_BYTES).toString('base64url');
  return { key, line: `${name} sha256:${digestOf(key)} ${groups.replaceAll(' ', '')}` };
}
