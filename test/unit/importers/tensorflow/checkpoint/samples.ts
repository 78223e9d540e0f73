// Checkpoints that TensorFlow wrote: exports beside the checkout, if there are any.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import type { CheckpointFiles } from '../../../../../ts/importers/tensorflow/types.js';

export const SAMPLES = resolve('../shared/models');

const TABLE = /^export(-\d{5}-of-\d{5})?$/;

/** Returns false and reports the reason if the samples are not on this machine. */
export function haveSamples(context: TestContext): boolean {
  if (existsSync(join(SAMPLES, 'session_bundle', 'INDEX.json'))) return true;
  context.skip(`the exported models in ${SAMPLES} are not on this machine`);
  return false;
}

/** The checkpoint in a folder below the samples. */
export function sampleFiles(folder: string): CheckpointFiles {
  const path = join(SAMPLES, folder);
  const names = readdirSync(path).sort();
  const index = names.find((name) => name.endsWith('.index'));
  if (index !== undefined) return { version: 2, prefix: join(path, index.slice(0, -6)) };
  const files = names.filter((name) => TABLE.test(name)).map((name) => join(path, name));
  return { version: 1, files };
}

/** Every folder below the samples that contains a checkpoint. */
export function sampleFolders(): string[] {
  const found = new Set<string>();
  for (const path of readdirSync(SAMPLES, { recursive: true, encoding: 'utf8' })) {
    const name = path.slice(dirname(path).length + 1);
    if (name.endsWith('.index') || TABLE.test(name)) found.add(dirname(path));
  }
  return [...found].sort();
}
