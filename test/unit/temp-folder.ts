// A new folder for a test, removed when the test ends; and files in it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

export function tempFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'serval-test-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes `files` (path below the folder -> content) and returns the folder. */
export function filledFolder(
  context: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): string {
  const folder = tempFolder(context);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}
