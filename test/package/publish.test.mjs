// The pair of npm packages for publishing: accepted by `npm publish --dry-run` without a warning,
// installed together, and alone. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { NAMES, PLATFORMS, version } from '../../scripts/packaging/artefacts/names.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { artefact, exampleModels, run, scratchFolder } from './support.mjs';

// No registry listens there. npm wants a token even for a dry run.
const CLOSED = [
  ...['--registry', 'http://127.0.0.1:1', '--//127.0.0.1:1/:_authToken=none'],
  ...['--fetch-retries', '0', '--no-audit', '--no-fund', '--no-update-notifier'],
];

function installed(scratch, name, ...tarballs) {
  const folder = join(scratch, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'app' }));
  run('npm', ['install', ...CLOSED, ...tarballs], { cwd: folder });
  return folder;
}

describe('the npm packages for publishing', () => {
  const scratch = scratchFolder(after);
  const [main, platform] = [artefact('npmMain'), artefact('npmPlatform')];

  for (const kind of ['npmPlatform', 'npmMain', 'npm']) {
    it(`publishes ${kind} without a warning`, () => {
      const args = ['publish', '--dry-run', '--ignore-scripts', ...CLOSED, artefact(kind)];
      const { status, stderr } = spawnSync('npm', args, { cwd: scratch, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      assert.doesNotMatch(stderr, /npm (?:warn|error)/i);
      assert.match(stderr, /Publishing to .* with tag latest and public access \(dry-run\)/);
    });
  }

  it('name each other with the same version, and their platform in one of them', () => {
    const read = (file) => JSON.parse(run('tar', ['-xzOf', file, 'package/package.json']));
    const [whole, part] = [read(main), read(platform)];
    const names = ['@serval/linux-x64', '@serval/linux-arm64'];
    assert.deepEqual(Object.keys(whole.optionalDependencies), names);
    for (const name of names) assert.equal(whole.optionalDependencies[name], version);
    assert.deepEqual([part.name, part.version], [names[0], version]);
    assert.deepEqual([part.os, part.cpu, part.libc], [['linux'], ['x64'], ['glibc']]);
    for (const name of ['os', 'cpu', 'libc', 'private', 'scripts', 'devDependencies']) {
      assert.equal(whole[name], undefined, name);
    }
    assert.ok(!run('tar', ['-tzf', main]).includes('prebuilt'));
  });

  it('serve every protocol when both are installed', async () => {
    const folder = installed(scratch, 'both', platform, main);
    const modules = join(folder, 'node_modules');
    assert.ok(existsSync(join(modules, PLATFORMS.x64.npm, 'prebuilt', 'serval.node')));
    exampleModels(folder);
    const program = join(modules, NAMES.npm, 'bin', 'serval.mjs');
    await serveOnce([process.execPath, program], folder, {});
  });

  it('say what is missing when the native files are not installed', () => {
    const folder = join(scratch, 'alone');
    mkdirSync(folder);
    run('tar', ['-xzf', main, '-C', folder]);
    const args = [join(folder, 'package', 'bin', 'serval.mjs'), 'serve', folder];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.notEqual(status, 0);
    const wanted = `the package ${PLATFORMS.x64.npm} is not installed: install it without`;
    assert.ok(stderr.includes(wanted), stderr);
    assert.ok(readFileSync(join(folder, 'package', 'README.md'), 'utf8').startsWith('# Serval'));
  });
});
