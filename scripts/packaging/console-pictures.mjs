// Takes docs/images/console-*.png of the example models, behind `make build models` and
// scripts/ensure-tools.sh test (Chromium): node scripts/packaging/console-pictures.mjs. By hand,
// when the page changes.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const images = join(root, 'docs', 'images');
const VIEWPORT = { width: 1100, height: 640 };
const LOAD_MS = 70_000;
const DRAWN_MS = 60_000;
const PORTS = [
  '--http-port',
  '0',
  '--grpc-port',
  '0',
  '--log-format',
  'json',
  '--host',
  '127.0.0.1',
];

async function startServer() {
  const args = [join(root, 'bin', 'serval.mjs'), 'serve', join(root, 'examples', 'models')];
  const child = spawn(process.execPath, [...args, ...PORTS], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, http } = JSON.parse(line);
    if (event === 'ready') return { child, url: `http://127.0.0.1:${http.port}/` };
  }
  throw new Error('serval ended');
}

/** Requests by which there is something to draw, until it is drawn and for some time more. */
async function load(url, page) {
  const drawn = page.waitForFunction(
    () => document.querySelector('[data-fact=p50]')?.textContent !== '–',
    undefined,
    { timeout: DRAWN_MS },
  );
  let end = Infinity;
  drawn.finally(() => {
    end = performance.now() + LOAD_MS;
  });
  const body = JSON.stringify({ instances: [1, 2, 5] });
  while (performance.now() < end) {
    await Promise.all(
      Array.from({ length: 4 }, () =>
        fetch(`${url}v1/models/half_plus_three:predict`, { method: 'POST', body }),
      ),
    );
  }
  await drawn;
}

async function open(browser, url, model, part, colorScheme) {
  const page = await (await browser.newContext({ viewport: VIEWPORT, colorScheme })).newPage();
  await page.goto(url);
  await page.getByLabel('Filter models').waitFor();
  await page.getByRole('option', { name: model }).first().click();
  await page.getByRole('tab', { name: part, exact: true }).click();
  return page;
}

const { child, url } = await startServer();
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  mkdirSync(images, { recursive: true });
  const request = await open(browser, url, 'iris_tree', 'Request', 'light');
  await request.getByRole('button', { name: 'Send' }).click();
  await request.locator('.replyhead').waitFor();
  await request.screenshot({ path: join(images, 'console-request.png') });
  const metrics = await open(browser, url, 'half_plus_three', 'Metrics', 'dark');
  await load(url, metrics);
  await metrics.screenshot({ path: join(images, 'console-metrics.png') });
} finally {
  await browser.close();
  child.kill('SIGTERM');
}
