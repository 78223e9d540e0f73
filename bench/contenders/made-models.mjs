// Folders of models that a Python script makes once, in the cache of test/env. Control plane.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '../children.mjs';

const TIMEOUT_MS = 600_000;

/**
 * The folder that `python -B script FOLDER` fills, made if it is missing. Its name is the prefix
 * and a hash of the script and `lock`, the file with the versions of Python's packages.
 */
export async function madeModels(context, { prefix, script, lock, python }) {
  const cache = process.env['SERVAL_CACHE'] || join(homedir(), '.cache', 'serval');
  const hash = createHash('sha256').update(readFileSync(script)).update(readFileSync(lock));
  const folder = join(cache, `${prefix}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const building = mkdtempSync(join(cache, `${prefix}-building-`));
  try {
    await runToEnd(await python(context), ['-B', script, building], context.cores.all, TIMEOUT_MS);
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    // Another run may have been faster: then its folder is used.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
