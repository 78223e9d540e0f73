// Structures of models in a real browser: the steps of an ensemble as a graph and a table with
// states, requests and times; the slots of a model with sequences. Source: docs/guides/console.md.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ModelFolders } from '../support/model-folders.js';
import { control, infer, plusModel, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { chromiumFile, LIMIT_MS, openPage, startBrowser, type Watched } from './browser.js';
import { diamondConfig, sumModel, sumConfig, twoModel } from './models.js';

const skip = chromiumFile() === undefined && 'no Chromium here (scripts/ensure-tools.sh test)';

const step = (id: number, x: number, more: object): string =>
  JSON.stringify({
    parameters: { sequence_id: id, ...more },
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [x] }],
  });

describe('Structures in Chromium', { skip }, () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let browser: Browser;
  let watched: Watched;
  let url = '';
  const at = async (hash: string, scheme: 'light' | 'dark' = 'light'): Promise<Page> => {
    watched = await openPage(browser, url + hash, { colorScheme: scheme });
    return watched.page;
  };

  before(async () => {
    const repository = folders.repository('structures', []);
    put(join(repository, 'plus_one', '1', 'model.onnx'), plusModel(1));
    put(join(repository, 'plus_ten', '1', 'model.onnx'), plusModel(10));
    folders.add(repository, 'add', twoModel());
    put(join(repository, 'diamond', '1', '.keep'), '');
    put(join(repository, 'diamond', 'config.pbtxt'), diamondConfig());
    folders.add(repository, 'running_sum', sumModel());
    put(join(repository, 'running_sum', 'config.pbtxt'), sumConfig());
    server = await startServer([
      ...['--model-repository', repository, '--model-control-mode=explicit', '--load-model=*'],
    ]);
    url = `http://127.0.0.1:${server.httpPort}/`;
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await server.stop();
    folders.remove();
  });
  afterEach(async () => {
    await watched.page.context().close();
    assert.deepEqual(watched.problems, []);
  });

  it('draws the steps of an ensemble, and counts their requests', async () => {
    const page = await at('#/diamond/overview');
    const graph = page.getByRole('img', { name: /Steps of the ensemble diamond: 4 steps/ });
    await graph.waitFor();
    assert.equal(await graph.locator('.step').count(), 4);
    assert.equal(await graph.locator('.value').count(), 5);
    assert.equal(await graph.locator('.value.outer').count(), 2);
    const inner = graph.locator('.value', { hasText: 'left' });
    await until(
      'types',
      async () => (await inner.innerHTML()).includes('FP32[?]'),
      undefined,
      LIMIT_MS,
    );
    const rows = page.locator('table.steps tbody tr');
    assert.equal(await rows.count(), 4);
    const requests = async (): Promise<readonly string[]> =>
      rows.locator('td:nth-child(3)').allInnerTexts();
    assert.deepEqual(v2Values(await infer(server, 'diamond', v2Body('IN', [5]))), [23]);
    // plus_one is two of the steps.
    await until('counts', async () => (await requests()).join() === '2,2,1,1', undefined, LIMIT_MS);
    assert.match(await rows.nth(0).innerText(), /v1 · ready/);
    assert.match(await rows.nth(0).locator('td:nth-child(4)').innerText(), /^[\d.]+ (µs|ms|s)$/);
    assert.match(
      await graph.locator('.step').nth(0).innerHTML(),
      /2 requests · [\d.]+ (µs|ms|s) each/,
    );
    assert.equal(await graph.locator('.mood.ready').count(), 4);
  });

  it('links to the models of the steps, and shows no steps for them', async () => {
    const page = await at('#/diamond/overview');
    await page.locator('table.steps a', { hasText: 'add' }).first().click();
    await page.getByRole('heading', { name: 'add', exact: true }).waitFor();
    await page.getByText('Inputs', { exact: true }).first().waitFor();
    assert.equal(await page.locator('.structure').count(), 0);
  });

  it('shows a step that is not loaded any more', async () => {
    const page = await at('#/diamond/overview');
    await page.locator('.mood.ready').first().waitFor();
    await control(server, '/v2/repository/models/plus_ten/unload');
    await page.getByText('No version is ready').waitFor();
    await control(server, '/v2/repository/models/plus_ten/load');
    await page.locator('.mood.ready').nth(3).waitFor();
  });

  it('shows the slots of sequences, used, free and waited for', async () => {
    const page = await at('#/running_sum/overview');
    const fact = (name: string): Promise<string> =>
      page.locator(`[data-fact="${name}"]`).innerText();
    const shows = (name: string, value: string): Promise<unknown> =>
      until(name, async () => (await fact(name)) === value, undefined, LIMIT_MS);
    await shows('slots in use', '0');
    assert.deepEqual(
      [await fact('strategy'), await fact('slots free'), await fact('idle limit')],
      ['oldest', '2', '30.0 s'],
    );
    for (const id of [1, 2]) {
      assert.equal(
        (await infer(server, 'running_sum', step(id, id, { sequence_start: true }))).status,
        200,
      );
    }
    const third = infer(
      server,
      'running_sum',
      step(3, 3, { sequence_start: true, sequence_end: true }),
    );
    await shows('waiting sequences', '1');
    await shows('slots in use', '2');
    await shows('slots free', '0');
    await page.getByRole('img', { name: '2 of 2 slots are in use' }).waitFor();
    await infer(server, 'running_sum', step(1, 1, { sequence_end: true }));
    assert.equal((await third).status, 200);
    await infer(server, 'running_sum', step(2, 1, { sequence_end: true }));
    await shows('slots free', '2');
    await shows('waiting sequences', '0');
  });

  it('fits a window of 400 pixels, and can be scrolled by the keyboard', async () => {
    const page = await at('#/diamond/overview', 'dark');
    await page.setViewportSize({ width: 400, height: 720 });
    await page.locator('.flow').waitFor();
    for (const model of ['diamond', 'running_sum']) {
      await page.goto(`${url}#/${model}/overview`);
      await page
        .locator(`.structure[aria-label="${model === 'diamond' ? 'Steps' : 'Sequences'}"]`)
        .waitFor();
      const wide = await page.evaluate<string[]>(`
        [document.documentElement, ...document.querySelectorAll('.main, .structure')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.clientWidth > 400)
          .map((one) => \`\${one.tagName}.\${one.className} \${one.scrollWidth}\`)`);
      assert.deepEqual(wide, [], model);
    }
    await page.goto(`${url}#/diamond/overview`);
    const scroll = page.getByRole('group', { name: 'Graph of the steps' });
    await scroll.focus();
    const left = (): Promise<number> =>
      scroll.evaluate((one) => (one as unknown as { scrollLeft: number }).scrollLeft);
    await page.keyboard.press('ArrowRight');
    await until('scrolled', async () => (await left()) > 0, undefined, LIMIT_MS);
  });
});
