// The tarball that contains Node, on a machine without any other program, not even a PATH; and the
// npm package installed without a registry, on every supported Node. Each serves requests of each
// protocol. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemLicences, vendoredLicences } from '../../scripts/licences.mjs';
import { version } from '../../scripts/packaging/artefacts/names.mjs';
import {
  checkByNodes,
  checkExports,
  installedFolder,
  installPacked,
  smokeNodes,
} from '../../scripts/packaging/check-npm.mjs';
import { checkNativeLinks } from '../../scripts/packaging/native-links.mjs';
import { shippedPackages } from '../../scripts/packaging/prebuilt.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { artefact, run, scratchFolder } from './support.mjs';

// An environment with an empty PATH folder and no other variable.
const BARE = { PATH: '/nowhere' };

// Checks that every relative link of every page leads to an existing file.
function checkLinks(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.md'));
  assert.ok(pages.includes('README.md') && pages.length > 15, `pages: ${pages.join(', ')}`);
  for (const page of pages) {
    const text = readFileSync(join(folder, page), 'utf8');
    for (const [, target] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      assert.ok(existsSync(join(folder, dirname(page), target)), `${page} links to ${target}`);
    }
  }
}

describe('the tarball', () => {
  const scratch = scratchFolder(after);
  let folder;

  before(() => {
    run('tar', ['-xzf', artefact('tarball'), '-C', scratch]);
    const [top, ...others] = readdirSync(scratch);
    assert.deepEqual(others, [], 'one top folder expected');
    folder = join(scratch, top);
  });

  it('has a command that works by itself and by a link', () => {
    const options = { cwd: folder, env: BARE, encoding: 'utf8' };
    const { stdout, stderr } = spawnSync('bin/serval', ['version'], options);
    assert.ok(stdout.includes(version), `version printed '${stdout}${stderr}'`);
    symlinkSync(join(folder, 'bin', 'serval'), join(folder, '..', 'linked'));
    assert.equal(run(join(folder, '..', 'linked'), ['version']), stdout);
  });

  it('has the licences of all parts and a manual page', () => {
    const licences = readFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const libraries = Object.keys({ ...systemLicences, ...vendoredLicences });
    for (const name of [...shippedPackages(), ...libraries]) {
      assert.ok(licences.includes(`\n${name} `), `no licence of ${name}`);
    }
    const node = readFileSync(join(folder, 'node', 'LICENSE'), 'utf8');
    assert.ok(node.includes('Node.js is licensed'), 'no licence of Node');
    const manual = readFileSync(join(folder, 'man', 'serval.1'), 'utf8');
    assert.ok(manual.startsWith('.TH SERVAL 1'), manual.slice(0, 40));
  });

  it('has an addon that needs only glibc and Node', () => {
    checkNativeLinks(join(folder, 'prebuilt', 'serval.node'));
  });

  it('has pages whose links lead to files', () => checkLinks(folder));

  it('serves every protocol without a PATH', () => serveOnce(['bin/serval'], folder, BARE));
});

describe('the npm package', () => {
  const scratch = scratchFolder(after);
  let prefix;

  before(() => {
    prefix = installPacked(artefact('npm'), scratch);
  });

  it('has pages whose links lead to files', () => checkLinks(installedFolder(prefix)));

  it('is imported, required and type-checked', () => checkExports(prefix, scratch));

  it('is installed by npm and run by npx of Node 22 and 24', () => {
    checkByNodes(scratch, ['22', '24']);
  });

  it('serves every protocol on every supported Node', () => smokeNodes(prefix, scratch));
});
