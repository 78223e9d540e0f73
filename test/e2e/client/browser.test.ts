// The client's module for browsers: its size, its imports, and calls of a real server from
// Debian's Chromium, in which the page comes from another origin.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { packageRoot } from '../../../ts/base/package-files.js';
import { chromiumFile, openPage, startBrowser } from '../console/browser.js';
import { ModelFolders } from '../support/model-folders.js';
import { startServer } from '../support/serval-process.js';

const MODULE = readFileSync(join(packageRoot(), 'dist', 'bundle', 'client.browser.js'));
/** The limit of what a page receives, compressed. */
const TRANSFER_BYTES_MAX = 10_000;
/** The limit of the text that a page compiles: a few percent above its size. */
const BYTES_MAX = 16_500;

const PAGE = `<!doctype html><title>client</title><script type="module">
import { ClientError, V2Client } from '/client.browser.js';
const text = (value) => JSON.stringify(value, (_, one) => typeof one === 'bigint' ? one + 'n' :
  ArrayBuffer.isView(one) ? [one.constructor.name, ...one] : one);
try {
  const client = new V2Client(new URLSearchParams(location.search).get('server'));
  const typed = await client.infer('half_plus_three', { x: Float32Array.of(1, 2) });
  const json = await client.infer('half_plus_three', { x: [5] }, { binary: false });
  const big = await client.infer('identity_int64', { input: [[2n ** 62n]] }, { compression: 'gzip' });
  const words = await client.infer('identity_bytes', { input: [['žluť', '']] });
  const abort = AbortSignal.abort();
  const errors = [];
  for (const call of [() => client.infer('none', { x: 1 }),
    () => client.infer('half_plus_three', { x: [1] }, { signal: abort })]) {
    await call().catch((error) => errors.push(error instanceof ClientError && error.code));
  }
  document.title = text([typed, json, big, words].map(({ outputs }) =>
    Object.values(outputs)[0].data).concat(errors, await client.ready()));
} catch (error) {
  document.title = String(error);
}
</script>`;

describe("the client's module for browsers", () => {
  it('is small and imports nothing', () => {
    const text = MODULE.toString();
    assert.ok(MODULE.length < BYTES_MAX, `${MODULE.length} bytes`);
    const sent = gzipSync(MODULE).length;
    assert.ok(sent < TRANSFER_BYTES_MAX, `${sent} bytes compressed`);
    assert.doesNotMatch(text, /\bimport\b|\brequire\b|node:|\bBuffer\b|\bprocess\b/);
  });

  it('is one file, as are those for Node, which load neither the server nor the addon', () => {
    const folder = mkdtempSync(join(tmpdir(), 'serval-client-'));
    try {
      for (const file of ['client.js', 'client.cjs', 'client.browser.js']) {
        const name = file.replace(/\.js$/, '.mjs');
        copyFileSync(join(packageRoot(), 'dist', 'bundle', file), join(folder, name));
        const names = 'Object.keys(client).join()';
        const code = `const client = await import('./${name}');
          if (process.report.getReport().sharedObjects.some((one) => one.endsWith('.node'))) exit(1);
          process.stdout.write(${names});`;
        const args = ['--input-type=module', '-e', code];
        const { status, stdout, stderr } = spawnSync(process.execPath, args, {
          cwd: folder,
          encoding: 'utf8',
        });
        assert.equal(status, 0, stderr);
        assert.match(stdout, /ClientError/);
        assert.match(stdout, file === 'client.browser.js' ? /V2Client/ : /GrpcClient.*V2Client/);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('calls a server of another origin from a page', async (context) => {
    if (chromiumFile() === undefined) {
      context.skip('no Chromium here; Debian has it in the package chromium');
      return;
    }
    const folders = new ModelFolders();
    const pages = createServer(({ url = '' }, reply) => {
      const isModule = url === '/client.browser.js';
      reply.setHeader('content-type', isModule ? 'text/javascript' : 'text/html; charset=utf-8');
      reply.end(isModule ? MODULE : PAGE);
    });
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    const models = ['half_plus_three', 'identity_int64', 'identity_bytes'];
    const repository = folders.repository('browser', models);
    const server = await startServer(['--model-repository', repository, '--cors-origins', origin]);
    const browser = await startBrowser();
    try {
      const address = encodeURIComponent(`http://127.0.0.1:${server.httpPort}`);
      const { page, problems } = await openPage(browser, `${origin}/?server=${address}`);
      await page.waitForFunction("document.title !== 'client'");
      assert.deepEqual(problems, []);
      assert.deepEqual(JSON.parse(await page.title()), [
        ['Float32Array', 3.5, 4],
        ['Float32Array', 5.5],
        ['BigInt64Array', `${2n ** 62n}n`],
        ['žluť', ''],
        'NOT_FOUND',
        'CANCELLED',
        true,
      ]);
    } finally {
      await browser.close();
      await server.stop();
      pages.close();
      folders.remove();
    }
  });
});
