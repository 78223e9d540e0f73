// Takes docs/images/console-*.png and bench-*.png of the example models, after `make build models`
// and scripts/ensure-tools.sh test (Chromium): node scripts/packaging/console-pictures.mjs
// [console|steps|bench]. Run by hand, when a page changes.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { encodeModel, floatBytes } from '../../dist/importers/onnx/builder.js';

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

const examples = join(root, 'examples', 'models');

async function startServer(models = examples) {
  const args = [join(root, 'bin', 'serval.mjs'), 'serve', models];
  const child = spawn(process.execPath, [...args, ...PORTS], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, http } = JSON.parse(line);
    if (event === 'ready') return { child, url: `http://127.0.0.1:${http.port}/` };
  }
  throw new Error('serval ended');
}

/**
 * Sends requests so that the page has something to draw, until it is drawn and for some time after.
 */
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

async function consolePictures(browser) {
  const { child, url } = await startServer();
  try {
    const request = await open(browser, url, 'iris_tree', 'Request', 'light');
    await request.getByRole('button', { name: 'Send' }).click();
    await request.locator('.replyhead').waitFor();
    await request.screenshot({ path: join(images, 'console-request.png') });
    const metrics = await open(browser, url, 'half_plus_three', 'Metrics', 'dark');
    await load(url, metrics);
    await metrics.screenshot({ path: join(images, 'console-metrics.png') });
  } finally {
    child.kill('SIGTERM');
  }
}

/** A repository with an ensemble of three steps: y = half(x) + half(half(x)). */
function writeSteps(folder) {
  const half = 'half_plus_three';
  cpSync(join(examples, half), join(folder, half), { recursive: true });
  const port = (name) => ({ name, type: 'float', shape: ['batch'] });
  const sum = encodeModel({
    graph: {
      name: 'sum',
      inputs: [port('a'), port('b')],
      outputs: [port('sum')],
      initializers: [],
      nodes: [{ op: 'Add', inputs: ['a', 'b'], outputs: ['sum'] }],
    },
  });
  mkdirSync(join(folder, 'sum', '1'), { recursive: true });
  writeFileSync(join(folder, 'sum', '1', 'model.onnx'), sum);
  mkdirSync(join(folder, 'halves', '1'), { recursive: true });
  const step = (model, reads, writes) => {
    const map = (name, tensors) =>
      Object.entries(tensors).map(([key, value]) => `${name} { key: "${key}" value: "${value}" }`);
    const maps = [...map('input_map', reads), ...map('output_map', writes)].join(' ');
    return `step { model_name: "${model}" model_version: -1 ${maps} }`;
  };
  const steps = [
    step(half, { x: 'x' }, { y: 'once' }),
    step(half, { x: 'once' }, { y: 'twice' }),
    step('sum', { a: 'once', b: 'twice' }, { sum: 'y' }),
  ];
  writeFileSync(
    join(folder, 'halves', 'config.pbtxt'),
    `platform: "ensemble"
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
ensemble_scheduling { ${steps.join('\n')} }
`,
  );
}

async function stepsPicture(browser) {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pictures-'));
  writeSteps(folder);
  const { child, url } = await startServer(folder);
  try {
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [3], data: [1, 2, 5] }];
    const body = JSON.stringify({ inputs });
    for (let i = 0; i < 500; i += 1) {
      await (await fetch(`${url}v2/models/halves/infer`, { method: 'POST', body })).text();
    }
    const page = await open(browser, url, 'halves', 'Overview', 'light');
    await page.locator('.flow', { hasText: '500 requests' }).waitFor();
    // The whole part fits without scrolling.
    await page.setViewportSize({ ...VIEWPORT, height: 1000 });
    await page.locator('.structure').screenshot({ path: join(images, 'console-steps.png') });
  } finally {
    child.kill('SIGTERM');
    rmSync(folder, { recursive: true });
  }
}

/**
 * Returns a classifier of four layers, 1.8 million products per row: large enough for tuning to
 * matter.
 */
function layersModel() {
  const weights = (rows, columns, name) => {
    const values = Array.from({ length: rows * columns }, (_, i) => Math.sin(i) / rows);
    return { name, type: 'float', dims: [rows, columns], data: floatBytes(values) };
  };
  const layer = (from, name, to) => [
    { op: 'MatMul', inputs: [from, name], outputs: [`${to}_sum`] },
    { op: 'Relu', inputs: [`${to}_sum`], outputs: [to] },
  ];
  return encodeModel({
    graph: {
      name: 'layers',
      inputs: [{ name: 'x', type: 'float', shape: ['batch', 256] }],
      outputs: [{ name: 'scores', type: 'float', shape: ['batch', 10] }],
      initializers: [
        weights(256, 1024, 'w1'),
        weights(1024, 1024, 'w2'),
        weights(1024, 512, 'w3'),
        weights(512, 10, 'w4'),
      ],
      nodes: [
        ...layer('x', 'w1', 'a'),
        ...layer('a', 'w2', 'b'),
        ...layer('b', 'w3', 'c'),
        { op: 'MatMul', inputs: ['c', 'w4'], outputs: ['scores'] },
      ],
    },
  });
}

/** Captures the page of a bench, down to its first drawings. */
async function benchPicture(browser, args, { name, colorScheme }) {
  const folder = mkdtempSync(join(tmpdir(), 'serval-pictures-'));
  try {
    writeFileSync(join(folder, 'classifier.onnx'), layersModel());
    const bench = [join(root, 'bin', 'serval.mjs'), 'bench', 'classifier.onnx', ...args];
    execFileSync(process.execPath, [...bench, '--html', 'bench.html'], {
      cwd: folder,
      stdio: 'ignore',
    });
    const viewport = { width: 940, height: 640 };
    const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
    await page.goto(pathToFileURL(join(folder, 'bench.html')).href);
    const { y, height } = await page.locator('.legend').first().boundingBox();
    const clip = { x: 0, y: 0, width: viewport.width, height: y + height + 24 };
    await page.screenshot({ path: join(images, name), fullPage: true, clip });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function benchPictures(browser) {
  const light = { name: 'bench-paths.png', colorScheme: 'light' };
  const paths = ['--paths', 'rest-json,rest-binary,grpc', '--concurrency', '1,2,4,8,16'];
  await benchPicture(browser, [...paths, '--rate', 'none', '--seconds', '4'], light);
  const dark = { name: 'bench-tune.png', colorScheme: 'dark' };
  await benchPicture(browser, ['--tune', '--latency-bound', '20ms'], dark);
}

const wanted = process.argv[2];
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  mkdirSync(images, { recursive: true });
  const parts = { console: consolePictures, steps: stepsPicture, bench: benchPictures };
  for (const [name, take] of Object.entries(parts)) {
    if (wanted === undefined || wanted === name) await take(browser);
  }
} finally {
  await browser.close();
}
