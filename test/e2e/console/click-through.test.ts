// The console in a real browser: every part is clicked through, nothing violates its policy, and no
// other host is contacted.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ModelFolders } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { chromiumFile, LIMIT_MS, openPage, startBrowser, type Watched } from './browser.js';
import { classModel, manyModels } from './models.js';

const skip = chromiumFile() === undefined && 'no Chromium here (scripts/ensure-tools.sh test)';
const GOOD = ['half_plus_three', 'mlp', 'image_identity', 'add_sub', 'text_identity'];
const EXPLICIT = ['--model-control-mode', 'explicit', '--load-model', '*'];
const NAMED_CONFIG = `
  input { name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] }
  output { name: "probabilities" data_type: TYPE_FP32 dims: [ -1, 4 ] label_filename: "classes.txt" }
`;
/** An image of one blue pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const option = (page: Page, name: string) => page.getByRole('option', { name, exact: false });
const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true });

async function open(page: Page, model: string, part: string): Promise<void> {
  await page.getByLabel('Filter models').fill(model);
  await option(page, model).first().click();
  await tab(page, part).click();
}

async function send(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.replyhead').waitFor();
}

describe('The console in Chromium', { skip }, () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let browser: Browser;
  let watched: Watched;
  let url = '';
  const at = async (hash = '', scheme: 'light' | 'dark' = 'light'): Promise<Page> => {
    watched = await openPage(browser, url + hash, { colorScheme: scheme });
    return watched.page;
  };

  before(async () => {
    const repository = folders.repository('console', GOOD, ['truncated']);
    folders.add(repository, 'scores', classModel());
    folders.add(repository, 'named_scores', classModel());
    const named = join(repository, 'named_scores');
    writeFileSync(join(named, 'classes.txt'), 'ant\nbee\ncat\ndog\n');
    writeFileSync(join(named, 'config.pbtxt'), NAMED_CONFIG);
    server = await startServer([repository, ...EXPLICIT, '--strict-readiness=false']);
    url = `http://127.0.0.1:${server.httpPort}/`;
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await server.stop();
    folders.remove();
  });
  afterEach(async () => {
    const { page, problems, requests } = watched;
    const foreign = requests.filter((one) => !one.startsWith(url) && !/^(blob|data):/.test(one));
    await page.context().close();
    assert.deepEqual(problems, []);
    assert.deepEqual(foreign, []);
  });

  it('lists models with states and reasons, and filters them', async () => {
    const page = await at();
    await option(page, 'half_plus_three').waitFor();
    assert.equal(await page.getByRole('option').count(), GOOD.length + 3);
    await page.getByLabel('Filter models').fill('half');
    await page.getByText('1 of 8 models').waitFor();
    await page.getByLabel('Filter models').fill('failed');
    await option(page, 'truncated').click();
    await page.locator('.reason', { hasText: /\w{5}/ }).waitFor();
    await page.getByText('No version is ready').waitFor();
  });

  it('shows signatures', async () => {
    const page = await at();
    await open(page, 'add_sub', 'Overview');
    await page.getByText('INT32[batch, 16]').first().waitFor();
    await page.getByText('AVAILABLE').waitFor();
  });

  it('sends the example of every protocol', async () => {
    const page = await at();
    for (const model of GOOD) {
      await open(page, model, 'Request');
      const tabs = page.getByRole('tablist', { name: 'Protocol' }).getByRole('tab');
      await tabs.first().waitFor();
      assert.equal(await tabs.count(), 2, model);
      for (const index of [0, 1]) {
        await tabs.nth(index).click();
        await send(page);
        const status = await page.locator('.replyhead .status').innerText();
        assert.equal(status, '200', `${model} ${await page.locator('.answer').innerText()}`);
      }
    }
  });

  it('shows values, scores as bars, errors in words', async () => {
    const page = await at();
    await open(page, 'half_plus_three', 'Request');
    await send(page);
    assert.match(await page.locator('.answer table').innerText(), /3\.5\s+1\s+4\s+2\s+5\.5/);
    await page.getByLabel('Request body').fill('{"inputs":[]}');
    await send(page);
    assert.match(await page.locator('.answer .bad').last().innerText(), /input/);
    await open(page, 'scores', 'Request');
    await send(page);
    await page.locator('.bars li').first().waitFor();
    const labels = await page.locator('.bars .label').allInnerTexts();
    assert.equal(labels.length, 4);
    const scores = (await page.locator('.bars .number').allInnerTexts()).map(Number);
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    );
  });

  it('accepts an image and shows one', async () => {
    const page = await at();
    await open(page, 'image_identity', 'Request');
    const file = join(folders.folder, 'point.png');
    writeFileSync(file, Buffer.from(PNG, 'base64'));
    await page.getByLabel('Image', { exact: true }).setInputFiles(file);
    await page.locator('.preview canvas[width="1"]').waitFor();
    await send(page);
    await page.locator('.pictures canvas').first().waitFor();
  });

  it('draws metrics that move', async () => {
    const page = await at('#/half_plus_three/metrics');
    await page.locator('.plot').first().waitFor();
    const fact = page.locator('[data-fact="answered"]');
    const before = await fact.innerText();
    const body = '{"instances":[1.0]}';
    await exchange(server.httpPort, 'POST', '/v1/models/half_plus_three:predict', body);
    await until('the count', async () => (await fact.innerText()) !== before, undefined, LIMIT_MS);
    await page.locator('rect.column').first().waitFor();
  });

  it('has an overview: numbers of the server, problems, the slowest models', async () => {
    const body = '{"instances":[1.0]}';
    await exchange(server.httpPort, 'POST', '/v1/models/half_plus_three:predict', body);
    await exchange(server.httpPort, 'POST', '/v1/models/half_plus_three:predict', '{}');
    const page = await at();
    const fact = async (name: string): Promise<string> =>
      page.locator(`[data-fact="${name}"]`).innerText();
    await page.locator('[data-model="half_plus_three"]').waitFor();
    assert.ok(Number(await fact('answered')) >= 1);
    assert.ok(Number(await fact('failed')) >= 1);
    assert.match(await fact('process memory'), /^[\d.]+ [MG]B$/);
    assert.match(await fact('running for'), /^\d+ (s|min)/);
    assert.equal(await fact('with problems'), '1');
    await page.locator('.problems a', { hasText: 'truncated' }).waitFor();
    await page
      .locator('figure', { hasText: 'Latency since the start' })
      .locator('rect')
      .first()
      .waitFor();
    assert.match(await page.locator('header .status').innerText(), /ready, 1 failed/);
    assert.match((await page.locator('header .status').getAttribute('class')) ?? '', /bad/);
    await page.locator('[data-model="half_plus_three"] a').click();
    await page.locator('[data-fact="p99.9"]').waitFor();
  });

  it('counts in histograms what was answered before the page was opened', async () => {
    const body = '{"instances":[[[1.0]]]}';
    await exchange(server.httpPort, 'POST', '/v1/models/half_plus_three:predict', body);
    const page = await at('#/half_plus_three/metrics');
    await page.locator('rect.column').first().waitFor();
    assert.doesNotMatch(await page.locator('[data-fact="p50"]').innerText(), /–/);
  });

  it('names classes, and shows the response as it was sent', async () => {
    const page = await at();
    await open(page, 'named_scores', 'Request');
    await send(page);
    await page.locator('.bars li').first().waitFor();
    const labels = await page.locator('.bars .label').allInnerTexts();
    assert.deepEqual([...labels].sort(), ['ant', 'bee', 'cat', 'dog']);
    await page.getByText('Raw response').click();
    const raw = await page.locator('.raw pre').innerText();
    assert.match(raw, /^\{"model_name":"named_scores"/);
    await page.getByLabel('Request body').fill('{"inputs":[]}');
    await send(page);
    await page.getByText('Raw response').click();
    assert.match(await page.locator('.raw pre').innerText(), /^\{"error":/);
  });

  it('reloads a model', async () => {
    const page = await at('#/half_plus_three/overview');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByText('Reload: done.').waitFor();
    await page.getByText('serves v123').waitFor();
  });

  it('fits a window of 400 pixels', async () => {
    const page = await at();
    await page.setViewportSize({ width: 400, height: 720 });
    const fits = async (where: string): Promise<void> => {
      const wide = await page.evaluate<string[]>(`
        [document.documentElement, ...document.querySelectorAll('.main, .top, .sidebar, .plots')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.clientWidth > 400)
          .map((one) => \`\${one.tagName}.\${one.className} \${one.scrollWidth}\`)`);
      assert.deepEqual(wide, [], where);
    };
    await page.locator('[data-model="half_plus_three"]').waitFor();
    await fits('the overview');
    for (const part of ['Overview', 'Request', 'Metrics']) {
      await open(page, 'named_scores', part);
      if (part === 'Request') await send(page);
      if (part === 'Metrics') await page.locator('.plot').first().waitFor();
      await fits(part);
    }
    await page.getByText('Key', { exact: true }).click();
    const box = await page.locator('.keybox form').boundingBox();
    assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 400, JSON.stringify(box));
  });

  it('loads and unloads, by the keyboard alone', async () => {
    const page = await at();
    await option(page, 'mlp').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('mlp');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'mlp' }).waitFor();
    const unload = page.getByRole('button', { name: 'Unload' });
    await unload.waitFor();
    for (let presses = 0; presses < 20; presses += 1) {
      const focused = await page.evaluate<string>('document.activeElement.textContent');
      if (focused === 'Unload') break;
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByText('Unload: done.').waitFor();
    await page.getByText('not served').waitFor();
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/models/mlp/ready')).status, 404);
    await page.getByRole('button', { name: 'Load', exact: true }).press('Enter');
    await page.getByText('Load: done.').waitFor();
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/models/mlp/ready')).status, 200);
    await tab(page, 'Overview').press('ArrowRight');
    await page.getByLabel('Request body').press('Control+Enter');
    await page.locator('.replyhead .good').waitFor();
  });

  it('is dark where the system is', async () => {
    const back = async (page: Page): Promise<string> =>
      page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await back(await at('', 'light'));
    await watched.page.context().close();
    assert.notEqual(await back(await at('', 'dark')), light);
  });
});

describe('The console with a thousand models', { skip }, () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let browser: Browser;
  before(async () => {
    server = await startServer([manyModels(folders, 1000)]);
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await server.stop();
    folders.remove();
  });

  it('has a few rows on the page, and finds the last model', async () => {
    const { page, problems } = await openPage(browser, `http://127.0.0.1:${server.httpPort}/`);
    await page.getByText('1000 models').waitFor();
    const rows = await page.getByRole('option').count();
    assert.ok(rows > 5 && rows < 60, `${rows} rows`);
    const begun = performance.now();
    await page.getByLabel('Models', { exact: true }).last().focus();
    await page.keyboard.press('End');
    await option(page, 'many_0999').waitFor();
    await page.getByLabel('Filter models').fill('0500');
    await page.getByText('1 of 1000 models').waitFor();
    await option(page, 'many_0500').click();
    await page.getByText('FP32').first().waitFor();
    assert.ok(performance.now() - begun < LIMIT_MS);
    assert.deepEqual(problems, []);
  });

  it('has an OpenAPI document, again at once', async () => {
    const document = await exchange(server.httpPort, 'GET', '/openapi.json');
    const { paths } = JSON.parse(document.body.toString()) as { paths: object };
    assert.ok(Object.keys(paths).length > 2000);
    const again = await exchange(server.httpPort, 'GET', '/openapi.json');
    assert.deepEqual(again.body, document.body);
  });
});
