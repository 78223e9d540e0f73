// `serval gpu install` against the test's own package index: unpacked files, the state after an
// interruption, refusals, a second run.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readGpuFolder } from '../../../../ts/engine/gpu-folder.js';
import type { Wheel } from '../../../../ts/models/placement/wheels.js';
import { install } from '../../../../ts/cli/gpu/install/install.js';
import { Progress } from '../../../../ts/cli/gpu/install/progress.js';
import { tempFolder } from '../../temp-folder.js';
import { indexServer, wheelOf, type IndexServer } from './index-server.js';

/** Noise that does not compress. */
const CONTENT = new Uint8Array(300_000);
for (let i = 0, seed = 1; i < CONTENT.length; i++) {
  seed ^= seed << 13;
  seed ^= seed >>> 17;
  seed ^= seed << 5;
  CONTENT[i] = seed;
}

function twoWheels() {
  const a = wheelOf('nvidia-a', [
    { name: 'nvidia/lib/liba.so.1', content: CONTENT },
    { name: 'nvidia/lib/libunwanted.so.2', content: 'no' },
    { name: 'nvidia/include/a.h', content: 'no' },
    { name: 'nvidia_a-1.0.dist-info/licenses/License.txt', content: 'the licence' },
  ]);
  const b = wheelOf('b', [{ name: 'b/lib/libb.so.1', content: 'bbb', stored: true }]);
  return { a, b };
}

interface Setup {
  readonly index: IndexServer;
  readonly folder: string;
  readonly said: string[];
  readonly wheels: readonly Wheel[];
  readonly run: (changes?: Partial<Parameters<typeof install>[0]>) => Promise<number>;
}

async function setUp(context: TestContext): Promise<Setup> {
  const index = await indexServer(context);
  const { a, b } = twoWheels();
  for (const { wheel, bytes } of [a, b]) index.files.set(wheel.file, bytes);
  const folder = tempFolder(context);
  const said: string[] = [];
  const progress = new Progress({ write: (text) => said.push(text) });
  const wheels = [a.wheel, b.wheel];
  const run: Setup['run'] = (changes = {}) =>
    install({
      ...{ folder, wheels, indexes: [index.url], progress, pauseMs: 1, env: {} },
      ...changes,
    });
  return { index, folder, said, wheels, run };
}

const ALL = ['LICENSE.nvidia-a', 'installed.json', 'liba.so.1', 'libb.so.1'];

for (const kind of ['json', 'html'] as const) {
  test(`only what is wanted is there, from an index of ${kind}`, async (context) => {
    const { index, folder, said, run } = await setUp(context);
    index.kind = kind;
    assert.equal(await run(), 2);
    assert.deepEqual(readdirSync(folder).sort(), ALL);
    assert.deepEqual(readFileSync(join(folder, 'liba.so.1')), Buffer.from(CONTENT));
    assert.equal(readFileSync(join(folder, 'libb.so.1'), 'utf8'), 'bbb');
    const found = readGpuFolder(folder);
    assert.deepEqual(
      found?.packages.map(({ name, version }) => `${name} ${version}`),
      ['nvidia-a 1.0', 'b 1.0'],
    );
    assert.deepEqual(found?.broken, []);
    assert.match(said[0] ?? '', /^nvidia-a 1\.0 \(a test, 0\.\d MB\): http:/);
  });
}

test('a second run asks for nothing; what is not whole is fetched again', async (context) => {
  const { index, folder, run } = await setUp(context);
  await run();
  index.asked.length = 0;
  assert.equal(await run(), 0);
  assert.deepEqual(index.asked, []);
  truncateSync(join(folder, 'liba.so.1'), 10);
  assert.deepEqual(readGpuFolder(folder)?.broken, ['liba.so.1']);
  assert.equal(await run(), 1);
  assert.equal(readFileSync(join(folder, 'liba.so.1')).length, CONTENT.length);
});

test('resumes an interrupted download', async (context) => {
  const { index, wheels, run } = await setUp(context);
  const file = wheels[0]?.file ?? '';
  index.cuts.set(file, [250_000]);
  assert.equal(await run(), 2);
  const ranges = index.asked.filter((line) => line.startsWith(`GET /store/${file} bytes=`));
  assert.equal(ranges.length, 1);
  assert.ok(Number(/=(\d+)-/.exec(ranges[0] ?? '')?.[1]) > 0);
});

test('a run that was ended goes on, also where ranges are not answered', async (context) => {
  for (const ranges of [true, false]) {
    const { index, folder, wheels, run } = await setUp(context);
    index.ranges = ranges;
    const file = wheels[0]?.file ?? '';
    index.cuts.set(file, [5000, 0, 0, 0, 0]);
    await assert.rejects(run(), /nvidia_a-1\.0-py3-none-any\.whl: /);
    assert.equal(readGpuFolder(folder)?.packages.length ?? 0, 0);
    assert.ok(existsSync(join(folder, '.downloads', `${file}.part`)));
    assert.ok(!existsSync(join(folder, '.installing')));
    assert.equal(await run(), 2);
    assert.deepEqual(readdirSync(folder).sort(), ALL);
  }
});

test('refuses files with another hash, and keeps nothing of them', async (context) => {
  const { index, folder, wheels, run } = await setUp(context);
  const file = wheels[0]?.file ?? '';
  const other = Buffer.from(index.files.get(file) ?? []);
  other[other.length >> 1] = (other[other.length >> 1] ?? 0) ^ 1;
  index.files.set(file, other);
  await assert.rejects(run(), /expected \d+ bytes of sha256 [0-9a-f]{64}, got \d+ of [0-9a-f]{64}/);
  assert.deepEqual(readdirSync(folder).sort(), ['.downloads', 'installed.json']);
  assert.deepEqual(readdirSync(join(folder, '.downloads')), []);
  index.files.set(file, Buffer.concat([other, other]));
  await assert.rejects(run(), /sha256/);
});

test('refuses a partial download of another file by its hash', async (context) => {
  const { folder, wheels, run } = await setUp(context);
  await run({ wheels: [] });
  const part = join(folder, '.downloads', `${wheels[0]?.file}.part`);
  const { mkdirSync } = await import('node:fs');
  mkdirSync(join(folder, '.downloads'));
  writeFileSync(part, 'not the beginning of it');
  await assert.rejects(run(), /sha256/);
  assert.equal(await run(), 2);
});

test('indexes are asked in order, and errors name what each said', async (context) => {
  const { index, wheels, run } = await setUp(context);
  const empty = await indexServer(context);
  assert.equal(await run({ indexes: [empty.url, index.url] }), 2);
  assert.ok(empty.asked.includes('GET /simple/nvidia-a/'));
  const [wheel] = wheels;
  assert.ok(wheel !== undefined);
  const newer = { ...wheel, file: 'nvidia_a-2.0-py3-none-any.whl', sha256: '0' };
  await assert.rejects(
    run({ wheels: [newer], indexes: [empty.url, index.url] }),
    /nvidia-a 1\.0: no index has nvidia_a-2\.0-\S+: http:\S+ answered 404; http:\S+ has 1 files/,
  );
  const own = { ...newer, index: index.url };
  await assert.rejects(run({ wheels: [own], indexes: [empty.url] }), /has 1 files of nvidia-a/);
});

test('a name and password of the index are sent, and shown to nobody', async (context) => {
  const { index, said, run } = await setUp(context);
  index.login = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
  await assert.rejects(run(), /answered 401/);
  assert.equal(await run({ indexes: [index.url.replace('//', '//me:p%40ss@')] }), 2);
  assert.doesNotMatch(said.join(''), /p%40ss|p@ss/);
});

test('two at once: the second is refused; what a dead process left is nothing', async (context) => {
  const { folder, run } = await setUp(context);
  await run({ wheels: [] });
  writeFileSync(join(folder, '.installing'), String(process.pid));
  await assert.rejects(run(), new RegExp(`process ${process.pid} is installing into it`));
  writeFileSync(join(folder, '.installing'), '2147483647');
  assert.equal(await run(), 2);
});

test('a wheel without what is wanted, a full disk and a silent index are errors', async (context) => {
  const { index, run } = await setUp(context);
  const none = wheelOf('none', [{ name: 'x', content: 'y' }]);
  index.files.set(none.wheel.file, none.bytes);
  await assert.rejects(run({ wheels: [none.wheel] }), /it contains none of the expected files/);
  const huge = { ...none.wheel, unpackedBytes: 2 ** 60 };
  await assert.rejects(
    run({ wheels: [huge] }),
    /expected \d+\.\d MB of free space, got \d+\.\d MB/,
  );
  await assert.rejects(run({ indexes: ['http://127.0.0.1:1/simple'] }), /ECONNREFUSED/);
  await assert.rejects(run({ indexes: ['ftp://localhost/simple'] }), /expected http/);
});

test('through a proxy of the environment, unless the host is near', async (context) => {
  const { index, run } = await setUp(context);
  const proxy = await indexServer(context);
  const env = { http_proxy: new URL(proxy.url).origin };
  await assert.rejects(run({ env }));
  assert.equal(proxy.asked[0], `GET ${index.url}/nvidia-a/`);
  assert.equal(await run({ env: { ...env, NO_PROXY: 'example.org, 127.0.0.1' } }), 2);
});

test('redraws one line on a terminal', async (context) => {
  const { run } = await setUp(context);
  let text = '';
  let nowMs = 0;
  const out = { isTTY: true, columns: 80, write: (more: string) => (text += more) !== '' };
  await run({ progress: new Progress(out, () => (nowMs += 200)) });
  assert.match(text, /\rnvidia-a +\d+% {2}0\.\d of 0\.\d MB/);
  assert.match(text, /\rnvidia-a 100% {2}|\rnvidia-a {2}100%/);
  assert.ok(text.endsWith('\r'), 'nothing of it stays');
});
