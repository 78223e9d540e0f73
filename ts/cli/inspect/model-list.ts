// `serval inspect` of a folder with several models: a line each. Control plane. Loads nothing:
// sizes are those of the files on disk, including data outside of the model file.
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { ScanResult } from '../../models/registry/sources/paths/scan-path.js';
import type { FoundModel, FoundVersion } from '../../models/registry/sources/repository.js';

/** An element of the list that `--json` prints. */
export interface ListedModel {
  readonly name: string;
  /** The version that is served by default; "" if there is none. */
  readonly version: string;
  readonly versions: readonly string[];
  readonly path: string;
  readonly format: string;
  /** Size of the model's files, including external tensors and variables. */
  readonly bytes: number;
  readonly problems: readonly string[];
}

const FILES_MAX = 100_000;

/** By name. Files removed meanwhile count 0. */
export async function listedModels(scan: ScanResult): Promise<readonly ListedModel[]> {
  const listed: ListedModel[] = [];
  for (const model of scan.models) listed.push(await listedModel(model));
  return listed;
}

async function listedModel(model: FoundModel): Promise<ListedModel> {
  const [version] = model.versions;
  return {
    name: model.name,
    version: version?.version ?? '',
    versions: model.versions.map((one) => one.version),
    path: version?.path ?? model.basePath,
    format: version?.format ?? '',
    bytes: version === undefined ? 0 : await versionBytes(model, version),
    problems: model.problems,
  };
}

/**
 * A version's folder is its own; files beside a named model file count only if their names begin
 * with its name.
 */
async function versionBytes(model: FoundModel, version: FoundVersion): Promise<number> {
  const { path } = version;
  if ((await sizeOf(path)).folder) return folderBytes(path);
  const folder = dirname(path);
  if (model.source !== 'file' && folder !== model.basePath) return folderBytes(folder);
  const stem = basename(path, extname(path));
  const names = await readdir(folder).catch(() => []);
  let bytes = 0;
  for (const name of names) {
    const isOwn = name.startsWith(stem) && /^(\W|_)/.test(name.slice(stem.length));
    if (name !== basename(path) && (!isOwn || extname(name) === extname(path))) continue;
    bytes += (await sizeOf(join(folder, name))).bytes;
  }
  return bytes;
}

async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  const waiting = [folder];
  for (let seen = 0; seen < FILES_MAX; seen++) {
    const path = waiting.pop();
    if (path === undefined) break;
    const found = await sizeOf(path);
    bytes += found.bytes;
    if (!found.folder) continue;
    for (const name of await readdir(path).catch(() => [])) waiting.push(join(path, name));
  }
  return bytes;
}

async function sizeOf(path: string): Promise<{ readonly bytes: number; readonly folder: boolean }> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return { bytes: 0, folder: true };
  return { bytes: found?.isFile() === true ? found.size : 0, folder: false };
}

const HEADINGS = ['MODEL', 'VERSION', 'FORMAT', 'BYTES', 'PATH'];

/** The table for people, followed by problems; with a final newline. Pure. */
export function listText(models: readonly ListedModel[], problems: readonly string[]): string {
  const rows = models.map(({ name, version, versions, format, bytes, path }) => {
    const others = versions.length > 1 ? ` of ${versions.length}` : '';
    return [name, version === '' ? '-' : `${version}${others}`, format || '-', String(bytes), path];
  });
  const all = [HEADINGS, ...rows];
  const widths = HEADINGS.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  const lines = all.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  const wrong = problems.map((one) => `problem: ${one}\n`).join('');
  return `${lines.map((line) => `${line.trimEnd()}\n`).join('')}${wrong}`;
}
