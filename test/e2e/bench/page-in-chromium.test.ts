// A bench page in a real browser: it complies with its own policy, makes no requests, and
// everything drawn is visible, in light and dark mode, and on a phone's screen.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { benchPage } from '../../../ts/cli/bench/page/page.js';
import type { BenchReport } from '../../../ts/cli/bench/types.js';
import { openPoint, pathPoints, reportOf } from '../../unit/cli/bench/reports.js';
import { tunedReport } from '../../unit/cli/bench/tuned-report.js';
import { chromiumFile, openPage, startBrowser, type Watched } from '../console/browser.js';
import { until } from '../support/polling.js';

const skip = chromiumFile() === undefined && 'no Chromium here (scripts/ensure-tools.sh test)';
const REPORTS: Readonly<Record<string, BenchReport>> = {
  paths: reportOf(pathPoints()),
  batches: reportOf([1, 4, 16].flatMap((batch) => pathPoints(batch))),
  open: reportOf([500, 2000, 3500, 4100].map((rate) => openPoint('grpc', rate))),
  tuned: reportOf(pathPoints().slice(0, 6), { tuned: tunedReport() }),
};

/** Runs in the page: finds texts and marks that are outside of their drawing, or have no size. */
const OUTSIDE = `[...document.querySelectorAll('figure > svg')].flatMap((svg) => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text, .mark')].filter((one) => {
    const { left, right, top, bottom, width } = one.getBoundingClientRect();
    return width === 0 || left < box.left - 1 || right > box.right + 1 ||
      top < box.top - 1 || bottom > box.bottom + 1;
  }).map((one) => one.textContent + ' ' + one.outerHTML.slice(0, 80));
})`;
const WIDE = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const BACK = 'getComputedStyle(document.body).backgroundColor';
const LINES = `new Set([...document.querySelectorAll('figure .line')].map(
  (line) => getComputedStyle(line).stroke)).size`;

describe('A bench page in Chromium', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-bench-page-'));
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = (name: string, colorScheme: 'light' | 'dark' = 'light'): Promise<Watched> => {
    const file = join(folder, `${name}.html`);
    writeFileSync(file, benchPage(REPORTS[name] as BenchReport));
    return openPage(browser, pathToFileURL(file).href, { colorScheme });
  };

  for (const name of Object.keys(REPORTS)) {
    it(`shows all of "${name}", and asks for nothing`, async () => {
      const { page, problems, requests } = await open(name);
      const figures = page.locator('figure');
      assert.ok((await figures.count()) >= 2);
      for (const figure of await figures.all()) assert.ok(await figure.isVisible());
      assert.deepEqual(await page.evaluate(OUTSIDE), []);
      assert.equal(await page.evaluate(WIDE), 0);
      await page.setViewportSize({ width: 380, height: 700 });
      assert.equal(await page.evaluate(WIDE), 0);
      await page.context().close();
      assert.deepEqual(problems, []);
      assert.equal(requests.length, 1, `${requests}`);
    });
  }

  it('has a different colour for each series, and other colours in dark mode', async () => {
    const [light, dark] = [await open('paths', 'light'), await open('paths', 'dark')];
    assert.equal(await light.page.evaluate(LINES), 4);
    assert.equal(await dark.page.evaluate(LINES), 4);
    const backs = [await light.page.evaluate(BACK), await dark.page.evaluate(BACK)];
    assert.deepEqual(backs, ['rgb(247, 247, 244)', 'rgb(20, 23, 21)']);
    for (const { page } of [light, dark]) await page.context().close();
  });

  it('says what a mark is when a pointer rests on it', async () => {
    const { page } = await open('paths');
    const mark = page.locator('figure .point').last();
    await mark.hover();
    assert.match((await mark.locator('title').textContent()) ?? '', /32 in flight\n.* requests\/s/);
    const colour = 'getComputedStyle(document.querySelector(".point:hover .mark")).strokeWidth';
    assert.equal(await page.evaluate(colour), '2px');
    await page.context().close();
  });

  it('runs nothing and fetches nothing, whatever gets into it', async () => {
    const { page, problems, requests } = await open('paths');
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend',
      '<img src="http://127.0.0.1:9/x.png" onerror="window.ran = 1">' +
      '<iframe src="http://127.0.0.1:9/"></iframe><b style="color: red">x</b>')`);
    await until('refusals', () => problems.length >= 3);
    assert.ok(
      problems.every((problem) => /Content Security Policy/.test(problem)),
      `${problems}`,
    );
    const sent = requests.slice(1).filter((url) => !url.startsWith('about:'));
    assert.ok(sent.length <= 2);
    assert.equal(await page.evaluate('window.ran'), undefined);
    await page.context().close();
  });

  it('opens the results of a run', async () => {
    const { page } = await open('tuned');
    const step = page.locator('.steps li').first();
    assert.equal(await step.isVisible(), false);
    await page.getByText('Search log (2 steps)').press('Enter');
    await step.waitFor({ state: 'visible' });
    assert.match(await page.locator('pre').first().innerText(), /^name: "resnet50"$/m);
    await page.context().close();
  });
});
