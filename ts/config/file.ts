// Reads the configuration file: one YAML mapping whose keys are the flags' names, whose values are
// scalars or lists of scalars. Control plane, start-up only. Every error carries line and column.
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import { canonicalName, findFlag, nearestFlag, SERVE_FLAGS } from './flags.js';
import type { FlagRow } from './values/flag-row.js';
import { configError } from './values/values.js';
import { echo } from '../base/text.js';
import type { Written } from './values/values.js';
import { CONFIG_FILE_BYTES_MAX } from '../base/limits.js';

const FILE_KEYS = SERVE_FLAGS.filter((row) => row.commandLineOnly !== true);
const LIST_KINDS = new Set(['path-list', 'text-list', 'providers']);

/**
 * Reads the settings of a file by flag name. Relative paths are resolved against the file's folder.
 * Errors: InvalidArgument: unreadable, too large, not YAML, unknown or repeated key, wrong kind.
 */
export async function readConfigFile(path: string): Promise<Map<string, Written>> {
  return parseConfigText(await readBounded(path), path);
}

async function readBounded(path: string): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const bytes = Buffer.alloc(CONFIG_FILE_BYTES_MAX + 1);
      let used = 0;
      for (;;) {
        const { bytesRead } = await file.read(bytes, used, bytes.length - used);
        used += bytesRead;
        if (bytesRead === 0 || used === bytes.length) break;
      }
      if (used <= CONFIG_FILE_BYTES_MAX) return bytes.toString('utf8', 0, used);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw configError(path, `cannot read the configuration file: ${(error as Error).message}`);
  }
  throw configError(path, `expected at most ${CONFIG_FILE_BYTES_MAX} bytes of configuration`);
}

/**
 * Same as readConfigFile() for text in memory; `path` names it in errors and provides the folder.
 */
export async function parseConfigText(text: string, path: string): Promise<Map<string, Written>> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number | undefined): string => {
    const { line, col } = lines.linePos(offset ?? 0);
    return `${path}:${line}:${col}`;
  };
  const problem = document.errors[0];
  if (problem !== undefined) throw configError(place(problem.pos[0]), problem.message);

  const scalarText = (node: unknown, where: string): string => {
    if (isAlias(node)) throw configError(where, 'YAML aliases are not used here');
    if (!isScalar(node) || node.value === null) throw configError(where, 'expected one value');
    return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
  };
  const offsetOf = (node: unknown): number | undefined =>
    (node as { range?: readonly number[] | null } | null)?.range?.[0];

  const settings = new Map<string, Written>();
  if (document.contents === null) return settings;
  if (!isMap(document.contents)) {
    throw configError(place(offsetOf(document.contents)), 'expected "name: value" lines');
  }
  for (const { key, value } of document.contents.items) {
    const keyPlace = place(offsetOf(key));
    const row = await fileKey(scalarText(key, keyPlace), keyPlace);
    if (settings.has(row.name)) throw configError(keyPlace, `${row.name} is given twice`);
    const where = `${place(offsetOf(value) ?? offsetOf(key))}: ${row.name}`;
    const listed = isSeq(value) && LIST_KINDS.has(row.type.kind);
    const nodes: readonly unknown[] = listed ? value.items : [value];
    const texts = nodes.map((node) => scalarText(node, where));
    settings.set(row.name, { where, texts, folder: dirname(resolve(path)) });
  }
  return settings;
}

async function fileKey(written: string, where: string): Promise<FlagRow> {
  const row = findFlag(written);
  if (row !== undefined && FILE_KEYS.includes(row)) return row;
  const { peerKeyRefusal } = await import('./peers/peers.js');
  const refusal = peerKeyRefusal(canonicalName(written));
  if (refusal !== undefined) throw configError(where, refusal);
  const nearest = nearestFlag(written, FILE_KEYS);
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  throw configError(where, `unknown key ${echo(written)}${hint}`);
}
