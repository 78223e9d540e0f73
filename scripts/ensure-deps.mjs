// Installs the npm packages of package-lock.json unless node_modules already holds exactly those.
// Compares the lock with the one that npm keeps inside node_modules, so a tree made by hand with
// `npm install` counts as well. No install scripts run: none of our packages needs one, and
// onnxruntime-node's would look for GPU files on the network. Build time only.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// Returns the packages of `wanted` that `installed` lacks or has in another version, without
// optional ones. Both are the `packages` of a lock file.
export function missingPackages(wanted, installed) {
  return Object.entries(wanted)
    .filter(([path, entry]) => path !== '' && entry.optional !== true && entry.link !== true)
    .filter(([path, entry]) => installed[path]?.version !== entry.version)
    .map(([path]) => path);
}

function readPackages(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
}

function main() {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  const missing = missingPackages(wanted, installed);
  if (missing.length === 0) return 0;
  process.stdout.write(`npm ci: ${missing.length} packages to install\n`);
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' };
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', args, { cwd: root, stdio: 'inherit', env });
  return status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(main());
