// The image, Compose and the systemd unit: the reports of hadolint, promtool and systemd-analyze,
// the arguments of the image's entrypoint, and its health check on a real server.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parse } from 'yaml';
import { packageRoot } from '../../ts/base/package-files.js';
import { fromScript } from '../clients/support.js';
import { startServer } from '../e2e/support/serval-process.js';
import { DEPLOY, entrypointArgs } from './support.js';

const DOCKERFILE = join(DEPLOY, 'docker', 'Dockerfile');
const CUDA = join(DEPLOY, 'docker', 'Dockerfile.cuda');
const has = (program: string): boolean => spawnSync('which', [program]).status === 0;

describe('the image', () => {
  const { lines, missing } = fromScript('hadolint.sh');

  it('hadolint finds nothing', { skip: missing !== '' && missing }, () => {
    const files = [DOCKERFILE, CUDA];
    const { status, stdout } = spawnSync(lines[0] ?? '', files, { encoding: 'utf8' });
    assert.equal(status, 0, stdout);
  });

  it('is made of files that are there, and runs as nobody', () => {
    const text = readFileSync(DOCKERFILE, 'utf8');
    const copied = [...text.matchAll(/^COPY --chmod=\d+ (\S+) /gm)].map((match) => match[1] ?? '');
    assert.equal(copied.length, 2);
    for (const path of copied) assert.ok(existsSync(join(packageRoot(), path)), path);
    assert.match(text, /^USER 65532:65532$/m);
    assert.match(text, /^HEALTHCHECK /m);
    assert.equal(text.match(/^FROM /gm)?.length, 2);
  });

  it('for GPUs adopts libraries with flags that the command has', () => {
    const text = readFileSync(CUDA, 'utf8');
    const [, words = ''] = /serval gpu adopt (.*)"\]$/m.exec(text) ?? [];
    const flags = words.split(' ').filter((word) => word.startsWith('--'));
    assert.deepEqual(flags, ['--copy', '--to']);
    const args = [join(packageRoot(), 'bin', 'serval.mjs'), 'gpu', 'adopt', '--help'];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    for (const flag of flags) assert.ok(stdout.includes(flag), `${flag}: ${stdout}`);
    assert.match(text, /^USER 65532:65532$/m);
  });

  it('accepts its own commands, flags alone, and commands of other servers', () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [['serve', '/models'], 'serve /models'],
      [['inspect', '/models/a b'], 'inspect /models/a b'],
      [['--model-repository=/m'], 'serve --model-repository=/m'],
      [['--version'], '--version'],
      [['tritonserver', '--model-store=/m'], 'serve --model-store=/m'],
      [['/usr/bin/tensorflow_model_server', '--port=9000'], 'serve --port=9000'],
      [[], 'serve'],
    ];
    for (const [args, wanted] of cases) assert.equal(entrypointArgs(args), wanted);
  });

  it('is healthy while the server accepts requests', async () => {
    const server = await startServer([join(packageRoot(), 'examples', 'models', 'add_sub')]);
    const check = async (): Promise<number | null> => {
      const url = `http://127.0.0.1:${server.httpPort}/v2/health/ready`;
      const script = join(DEPLOY, 'docker', 'healthcheck.mjs');
      const child = spawn(process.execPath, [script], {
        env: { ...process.env, SERVAL_HEALTH_URL: url },
        stdio: 'ignore',
      });
      return new Promise((resolve) => {
        child.on('close', resolve);
      });
    };
    try {
      assert.equal(await check(), 0);
    } finally {
      await server.stop();
    }
    assert.equal(await check(), 1);
  });
});

describe('Compose', () => {
  const folder = join(DEPLOY, 'compose');
  interface Service {
    readonly volumes?: readonly string[];
    readonly build?: { readonly context: string; readonly dockerfile: string };
    readonly depends_on?: readonly string[];
  }
  const { services } = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8')) as {
    services: Record<string, Service>;
  };

  it('names files and services that exist', () => {
    const sources = Object.values(services)
      .flatMap(({ volumes }) => volumes ?? [])
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((source) => source.startsWith('.'));
    assert.equal(sources.length, 5);
    for (const source of sources) assert.ok(existsSync(join(folder, source)), source);
    const { build } = services['serval'] ?? {};
    assert.ok(build);
    assert.ok(existsSync(join(folder, build.context, build.dockerfile)));
    for (const { depends_on: others = [] } of Object.values(services)) {
      for (const name of others) assert.ok(services[name] !== undefined, name);
    }
  });

  it("Prometheus's configuration", { skip: !has('promtool') && 'no promtool' }, (context) => {
    // The rules are beside the configuration, as in the container.
    const work = mkdtempSync(join(tmpdir(), 'serval-prometheus-'));
    context.after(() => rmSync(work, { recursive: true }));
    for (const path of [
      join(folder, 'prometheus.yml'),
      join(DEPLOY, 'prometheus/serval.rules.yml'),
    ]) {
      writeFileSync(join(work, path.split('/').at(-1) ?? ''), readFileSync(path));
    }
    const config = join(work, 'prometheus.yml');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', config], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /\d+ rules found/);
  });
});

describe('systemd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-systemd-'));
  after(() => rmSync(folder, { recursive: true }));
  const skip = !has('systemd-analyze') && 'no systemd-analyze';
  const unit = join(DEPLOY, 'systemd', 'serval.service');

  it('accepts the unit, with a low exposure score', { skip }, () => {
    // Points to the program in this checkout.
    const here = join(folder, 'serval.service');
    const entry = join(packageRoot(), 'bin', 'serval.mjs');
    writeFileSync(here, readFileSync(unit, 'utf8').replace('/opt/serval/bin/serval', entry));
    const verify = ['verify', '--man=no', here];
    const { status, stderr } = spawnSync('systemd-analyze', verify, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.ok(!stderr.includes(dirname(here)), stderr);
    // 0 is best; 10 is a unit without any hardening.
    const args = ['security', '--offline=yes', '--threshold=25', here];
    const exposure = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    assert.equal(exposure.status, 0, exposure.stdout + exposure.stderr);
  });

  it('gives a drain the time that it needs', () => {
    const text = readFileSync(unit, 'utf8');
    const drain = Number(/--drain-seconds (\d+)/.exec(text)?.[1]);
    const stop = Number(/TimeoutStopSec=(\d+)/.exec(text)?.[1]);
    assert.ok(drain > 0 && stop > drain, `${drain} and ${stop}`);
  });
});
