// The folders of other projects' models, and the message of a test that does not find them.
import { readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';

/** The folder beside the checkout, if there is one. */
export const MODELS = resolve('../shared/models');

/** The model's folder; if it is missing, returns undefined and skips the test. */
export function sharedModel(t: TestContext, path: string): string | undefined {
  const folder = join(MODELS, path);
  if (entriesOf(folder).length > 0) return folder;
  t.skip(`${folder} is not on this machine`);
  return undefined;
}

/** Every folder below `folder` whose name is a version. */
export function versionFolders(folder: string): readonly string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return /^\d+$/.test(entry.name) ? [path] : versionFolders(path);
    });
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
