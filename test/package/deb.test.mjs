// The Debian package: unpacked without dpkg's help, installed, removed and purged by dpkg in a
// minimal Debian, and the answers of its server.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { packagedUnit } from '../../scripts/packaging/artefacts/deb.mjs';
import { root, version } from '../../scripts/packaging/artefacts/names.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { artefact, exampleModels, fromScript, run, scratchFolder } from './support.mjs';

// The link in /usr/bin needs readlink.
const BARE = { PATH: '/usr/bin:/bin' };

describe('the Debian package', () => {
  const deb = artefact('deb');
  const scratch = scratchFolder(after);

  it('serves every protocol where it is unpacked', async () => {
    const top = join(scratch, 'unpacked');
    run('dpkg-deb', ['-x', deb, top]);
    exampleModels(scratch);
    await serveOnce([join(top, 'usr', 'bin', 'serval')], scratch, BARE);
  });

  it('compiles C programs against its header and library', () => {
    const top = join(scratch, 'unpacked', 'usr');
    const [source, program] = [join(scratch, 'abi.c'), join(scratch, 'abi')];
    const text = `#include <serval.h>
int main(void) { return serval_abi_version() == SERVAL_ABI_VERSION ? 0 : 1; }
`;
    writeFileSync(source, text);
    const libraries = join(top, 'lib', 'serval', 'prebuilt');
    const linked = ['-L', libraries, '-lserval', `-Wl,-rpath,${libraries}`];
    run('gcc', ['-I', join(top, 'include'), source, '-o', program, ...linked]);
    run(program, []);
  });

  it('names its user, its configuration and the libraries that it needs', () => {
    const field = (name) => run('dpkg-deb', ['-f', deb, name]).trim();
    assert.equal(field('Version'), version);
    assert.match(field('Depends'), /^adduser, .*libc6 \(>= 2\.\d+\), .*libstdc\+\+6 \(>= \d+\)$/);
    assert.equal(run('dpkg-deb', ['-I', deb, 'conffiles']), '/etc/serval/serval.yaml\n');
    const unit = run('sh', [
      '-c',
      `dpkg-deb --fsys-tarfile '${deb}' | tar -xO ./lib/systemd/system`,
    ]);
    assert.match(unit, /^User=serval$/m);
    assert.match(
      unit,
      /^ExecStart=\/usr\/bin\/serval serve --config \/etc\/serval\/serval\.yaml /m,
    );
    assert.doesNotMatch(unit, /DynamicUser|\/opt/);
  });

  it('refuses to make a unit from one whose lines have changed', () => {
    const unit = readFileSync(join(root, 'deploy', 'systemd', 'serval.service'), 'utf8');
    assert.throws(() => packagedUnit(unit.replace('DynamicUser=yes', '')), /lacks .*DynamicUser/);
  });
});

describe('the Debian package in a minimal Debian', () => {
  const isRoot = process.getuid() === 0;
  const { lines, missing } = isRoot
    ? fromScript('debian-root.sh')
    : { lines: [], missing: 'only root may install packages' };
  const scratch = scratchFolder(after);
  const system = join(scratch, 'system');
  const here = { skip: missing !== '' && missing };
  // A mount namespace for each program: /proc is unmounted with it.
  const inside = (command) => ['unshare', '-m', 'sh', '-c', `mount -t proc proc proc; ${command}`];
  const shell = (command) => {
    const [program, ...args] = inside(`exec chroot . sh -c '${command}'`);
    return run(program, args, { cwd: system });
  };

  it('is installed with a user, and its own configuration starts an empty server', here, () => {
    mkdirSync(system);
    run('tar', ['-xf', join(lines[0], 'root.tar'), '-C', system]);
    copyFileSync(artefact('deb'), join(system, 'serval.deb'));
    shell('dpkg -i /serval.deb');
    assert.match(shell('getent passwd serval'), /:\/var\/lib\/serval:/);
    assert.equal(shell('serval version').trim(), `serval ${version}`);
    shell('mkdir -p /var/cache/serval && chown serval /var/cache/serval');
    const config = 'serval serve --config /etc/serval/serval.yaml --http-port 0 --grpc-port 0';
    const serve = `setpriv --reuid serval --clear-groups timeout -s TERM 5 ${config} || test $? = 124`;
    assert.match(shell(serve), /ready/i);
  });

  it('answers every protocol as the user of the service', here, async () => {
    const work = join(system, 'srv');
    exampleModels(work);
    const serve = `cd /srv && exec setpriv --reuid serval --clear-groups serval "$@"`;
    const [program, ...args] = inside(`exec chroot .. sh -c '${serve}' sh "$@"`);
    args[args.length - 1] = args.at(-1).replace('proc proc proc', 'proc proc ../proc');
    await serveOnce([program, ...args, 'sh'], work, process.env);
  });

  it('keeps the configuration when removed, and leaves nothing when purged', here, () => {
    shell('dpkg -r serval');
    assert.ok(existsSync(join(system, 'etc/serval/serval.yaml')));
    shell('mkdir -p /var/cache/serval/x /var/log/serval && dpkg -P serval');
    for (const path of ['etc/serval', 'var/lib/serval', 'var/cache/serval', 'usr/lib/serval']) {
      assert.equal(existsSync(join(system, path)), false, path);
    }
    assert.equal(shell('getent passwd serval || echo none').trim(), 'none');
  });
});
