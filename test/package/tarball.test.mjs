// The package suite: the tarball of `make package` on a machine without any other program, not even
// a PATH, and the npm package installed without a registry, on every supported Node. Each serves
// one inference over each protocol. Prints "N passed, N failed, N skipped". Test time only.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitWhenWritten, noCounts, seconds, summaryLine } from '../test/run/counts.mjs';
import {
  checkByNodes,
  checkExports,
  installedFolder,
  installPacked,
  smokeNodes,
} from './packaging/check-npm.mjs';
import { systemLicences, vendoredLicences } from './licences.mjs';
import { checkNativeLinks } from './packaging/native-links.mjs';
import { shippedPackages } from './packaging/prebuilt.mjs';
import { check, serveOnce } from './packaging/served.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const BYTES_MAX = 80e6;
// An environment with an empty PATH folder and no other variable.
const BARE = { PATH: '/nowhere' };

function makePackage() {
  const script = join(root, 'scripts', 'package.mjs');
  const { status } = spawnSync(process.execPath, [script], { cwd: root, stdio: 'inherit' });
  check(status === 0, 'scripts/package.mjs failed');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return { version, tarball: join(root, 'out', `serval-${version}-linux-x64.tar.gz`) };
}

function checkTarball(tarball) {
  const bytes = statSync(tarball).size;
  check(bytes < BYTES_MAX, `the package has ${bytes} bytes, expected less than ${BYTES_MAX}`);
  const sum = createHash('sha256').update(readFileSync(tarball)).digest('hex');
  const [written, name] = readFileSync(`${tarball}.sha256`, 'utf8').trim().split(/ +/);
  check(written === sum && tarball.endsWith(`/${name}`), 'the checksum file does not fit');
}

function unpack(tarball, scratch) {
  const to = join(scratch, 'unpacked');
  mkdirSync(to);
  check(spawnSync('tar', ['-xzf', tarball, '-C', to]).status === 0, 'tar cannot unpack it');
  const [folder, ...others] = readdirSync(to);
  check(others.length === 0, `one top folder expected, got ${[folder, ...others].join(', ')}`);
  return join(to, folder);
}

const addonOf = (folder) => join(folder, 'prebuilt', 'serval.node');

function checkContents(folder, version) {
  const options = { cwd: folder, env: BARE, encoding: 'utf8' };
  const answer = spawnSync('bin/serval', ['version'], options);
  check(answer.stdout.includes(version), `version printed '${answer.stdout}${answer.stderr}'`);
  symlinkSync(join(folder, 'bin', 'serval'), join(folder, '..', 'linked'));
  const linked = spawnSync(join(folder, '..', 'linked'), ['version'], { encoding: 'utf8' });
  check(linked.stdout === answer.stdout, `by a link it printed '${linked.stdout}'`);
  const licences = readFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  const libraries = Object.keys({ ...systemLicences, ...vendoredLicences });
  for (const name of [...shippedPackages(), ...libraries]) {
    check(licences.includes(`\n${name} `), `no licence of ${name}`);
  }
  const node = readFileSync(join(folder, 'node', 'LICENSE'), 'utf8');
  check(node.includes('Node.js is licensed'), 'no licence of Node');
  const manual = readFileSync(join(folder, 'man', 'serval.1'), 'utf8');
  check(manual.startsWith('.TH SERVAL 1'), `serval.1 begins with '${manual.slice(0, 40)}'`);
}

// Checks that every relative link of every page leads to an existing file.
function checkLinks(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.md'));
  check(pages.includes('README.md') && pages.length > 15, `too few pages: ${pages.join(', ')}`);
  for (const page of pages) {
    const text = readFileSync(join(folder, page), 'utf8');
    for (const [, target] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      check(existsSync(join(folder, dirname(page), target)), `${page} links to ${target}`);
    }
  }
}

// Runs the last stage of deploy/docker/Dockerfile in the unpacked folder.
function serveAsImage(folder) {
  const entrypoint = join(folder, 'bin', 'entrypoint');
  copyFileSync(join(root, 'deploy', 'docker', 'entrypoint.sh'), entrypoint);
  chmodSync(entrypoint, 0o755);
  return serveOnce([entrypoint], folder, { ...BARE, SERVAL: join(folder, 'bin', 'serval') });
}

async function main() {
  const counts = noCounts();
  const scratch = mkdtempSync(join(tmpdir(), 'serval-package-'));
  const step = async (name, action) => {
    const began = Date.now();
    try {
      const result = await action();
      counts.passed += 1;
      process.stdout.write(`${name}: ${seconds(Date.now() - began)}\n`);
      return result;
    } catch (error) {
      process.stdout.write(`FAILED package: ${name}: ${error.message}\n`);
      counts.failed += 1;
      throw error;
    }
  };
  try {
    const { version, tarball } = await step('make', makePackage);
    await step('tarball', () => checkTarball(tarball));
    const folder = await step('unpack', () => unpack(tarball, scratch));
    await step('contents', () => checkContents(folder, version));
    await step('addon', () => checkNativeLinks(addonOf(folder)));
    await step('links', () => checkLinks(folder));
    await step('serve without a PATH', () => serveOnce(['bin/serval'], folder, BARE));
    await step('serve as the image does', () => serveAsImage(folder));
    const prefix = await step('npm install -g', () => installPacked(scratch));
    await step('links of the npm package', () => checkLinks(installedFolder(prefix)));
    await step('import and require', () => checkExports(prefix, scratch));
    await step('npm and npx of Node 22 and 24', () => checkByNodes(scratch, ['22', '24']));
    await step('every Node', () => smokeNodes(prefix, scratch));
  } catch {
    // The failure is counted and printed above; the steps after it cannot run.
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  process.stdout.write(`${summaryLine(counts)}\n`);
  return counts.failed === 0 ? 0 : 1;
}

exitWhenWritten(await main());
