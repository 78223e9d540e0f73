// Writes man/serval.1 from the table of commands (dist/cli/help) into a package. Build
// time only.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

// Returns the day of the last commit, so that a rebuild gives the same bytes; "" if there is no
// git.
function lastChange() {
  try {
    const options = { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['log', '-1', '--format=%cs'], options).trim();
  } catch {
    return '';
  }
}

/** Writes man/serval.1 into `to`. Throws if nothing is built. */
export async function writeManPage(to) {
  const { manPage } = await import(join(root, 'dist', 'cli', 'help', 'man-page.js'));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  mkdirSync(join(to, 'man'), { recursive: true });
  writeFileSync(join(to, 'man', 'serval.1'), manPage(version, lastChange()));
}
