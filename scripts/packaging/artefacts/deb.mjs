// Writes the Debian package: the program with Node in /usr/lib/serval, the command in /usr/bin, the
// configuration in /etc/serval, a systemd unit that runs as its own user. dpkg-deb writes the same
// bytes for the same input. Build time only.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { debianDepends } from './glibc.mjs';
import { artefacts, NAMES, OUT, root, STAGE, version } from './names.mjs';
import { link, timeStamp, writeText } from './stage.mjs';

const DEPLOY = join(root, 'deploy');
const SCRIPTS = ['postinst', 'prerm', 'postrm'];
const CONFIGURATION = '/etc/serval/serval.yaml';
const MODELS = 'var/lib/serval/models';
const DOCS = `usr/share/doc/${NAMES.deb}`;

/**
 * The unit of deploy/systemd for the package: its paths and its user. Throws if the unit lacks a
 * line that is replaced here. Pure.
 */
export function packagedUnit(unit) {
  const changes = [
    [/^# Serval as a service:.*?(?=^# systemctl reload)/ms, '# Serval as a service.\n'],
    ['/opt/serval/bin/serval', '/usr/bin/serval'],
    [/^DynamicUser=yes$/m, 'User=serval\nGroup=serval'],
  ];
  return changes.reduce((text, [from, to]) => {
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`package: deploy/systemd/serval.service lacks ${from}`);
    return changed;
  }, unit);
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

const gzip = (text) => gzipSync(text, { level: 9 });

// The text of Debian's changelog; the changes themselves are in CHANGELOG.md.
function changelog(seconds) {
  const date = new Date(seconds * 1000).toUTCString().replace('GMT', '+0000');
  const entry = `  * Version ${version}: the changes are in CHANGELOG.md in this folder.`;
  return `${NAMES.deb} (${version}) unstable; urgency=medium\n\n${entry}\n\n -- ${NAMES.maintainer}  ${date}\n`;
}

const COPYRIGHT = `Copyright 2026 The Serval authors

Serval is licensed under the Apache License, Version 2.0, which is in
/usr/share/common-licenses/Apache-2.0 on Debian systems.

The licences of the software that is part of this package are in THIRD-PARTY-LICENSES.txt.gz and
NODE-LICENSE.gz in this folder.
`;

function control(architecture, installedKilobytes, depends) {
  return `Package: ${NAMES.deb}
Version: ${version}
Architecture: ${architecture}
Maintainer: ${NAMES.maintainer}
Installed-Size: ${installedKilobytes}
Depends: ${['adduser', 'init-system-helpers (>= 1.54)', ...depends].join(', ')}
Section: net
Priority: optional
Description: inference server for the clients of TensorFlow Serving and Triton
 Serval answers TensorFlow Serving's APIs and the Open Inference Protocol
 (V2) of Triton and KServe over REST and gRPC in one process. It serves
 ONNX, TensorFlow, Spark, MLeap and PMML models.
 .
 The package contains the server, Node.js and ONNX Runtime for the CPU;
 "serval gpu install" adds the libraries for NVIDIA GPUs.
`;
}

function writeFiles(top, { core, extra }) {
  const home = join(top, 'usr', 'lib', NAMES.deb);
  for (const path of ['package.json', 'dist', 'prebuilt']) link(core, home, path);
  // Not a command here: bin/serval runs it on the Node of the package.
  writeText(join(home, 'bin', 'serval.mjs'), readFileSync(join(core, 'bin', 'serval.mjs')));
  for (const path of ['bin/serval', 'node/node']) link(extra, home, path);
  link(extra, home, 'lib/libserval.so', 'prebuilt/libserval.so'); // beside ONNX Runtime
  link(extra, join(top, 'usr'), 'include/serval.h');
  const docs = join(top, DOCS);
  for (const page of readdirSync(join(core, 'docs'))) link(core, docs, `docs/${page}`, page);
  link(core, docs, 'CHANGELOG.md');
  link(extra, docs, 'examples');
  writeText(join(docs, 'copyright'), COPYRIGHT);
  const compressed = [
    [join(core, 'THIRD-PARTY-LICENSES.txt'), 'THIRD-PARTY-LICENSES.txt.gz'],
    [join(extra, 'node', 'LICENSE'), 'NODE-LICENSE.gz'],
  ];
  for (const [from, to] of compressed) writeText(join(docs, to), gzip(readFileSync(from)));
  writeText(join(docs, 'changelog.gz'), gzip(changelog(timeStamp())));
  const manual = readFileSync(join(core, 'man', 'serval.1'));
  writeText(join(top, 'usr/share/man/man1/serval.1.gz'), gzip(manual));
  mkdirSync(join(top, 'usr', 'bin'), { recursive: true });
  symlinkSync(`../lib/${NAMES.deb}/bin/serval`, join(top, 'usr', 'bin', 'serval'));
  const unit = readFileSync(join(DEPLOY, 'systemd', 'serval.service'), 'utf8');
  writeText(join(top, 'lib/systemd/system/serval.service'), packagedUnit(unit));
  writeText(join(top, CONFIGURATION), readFileSync(join(DEPLOY, 'deb', 'serval.yaml')));
  const overrides = readFileSync(join(DEPLOY, 'deb', 'lintian-overrides'));
  writeText(join(top, `usr/share/lintian/overrides/${NAMES.deb}`), overrides);
  mkdirSync(join(top, MODELS), { recursive: true });
}

function writeControl(top, needed, { debian }) {
  const files = filesBelow(top).filter((path) => lstatSync(path).isFile());
  const bytes = files.reduce((sum, path) => sum + lstatSync(path).size, 0);
  const to = join(top, 'DEBIAN');
  const sums = files.map((path) => {
    const sum = createHash('md5').update(readFileSync(path)).digest('hex');
    return `${sum}  ${relative(top, path)}\n`;
  });
  const text = control(debian, Math.ceil(bytes / 1024), debianDepends(needed));
  writeText(join(to, 'control'), text);
  writeText(join(to, 'conffiles'), `${CONFIGURATION}\n`);
  writeText(join(to, 'md5sums'), sums.join(''));
  for (const name of SCRIPTS) {
    writeText(join(to, name), readFileSync(join(DEPLOY, 'deb', name)), 0o755);
  }
}

/** Writes the package for the symbol versions that its native files need; returns its name. */
export function writeDeb(stage, needed) {
  const top = join(STAGE, 'deb');
  rmSync(top, { recursive: true, force: true });
  writeFiles(top, stage);
  writeControl(top, needed, stage.platform);
  const seconds = timeStamp();
  for (const path of [top, ...filesBelow(top)]) {
    const kind = lstatSync(path);
    if (kind.isDirectory()) chmodSync(path, 0o755);
    if (!kind.isSymbolicLink()) utimesSync(path, seconds, seconds);
  }
  const { deb } = artefacts(stage.platform);
  const made = join(STAGE, deb);
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${seconds}` };
  // One thread, because xz divides the data by threads; level 1 costs 20 s less for 5 MB more.
  const args = ['--root-owner-group', '-Zxz', '-z1', '--threads-max=1', '--build', top, made];
  execFileSync('dpkg-deb', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  renameSync(made, join(OUT, deb));
  return deb;
}
