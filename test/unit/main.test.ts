// The command line as a process: exit codes, stdout, stderr.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { filledFolder } from './temp-folder.js';

const ENTRY = new URL('../../ts/main.js', import.meta.url).href;
interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A file, not `node -e`: node would treat a following "inspect" as a command for its own debugger.
 */
const launchFolder = mkdtempSync(join(tmpdir(), 'serval-main-'));
const launcher = join(launchFolder, 'launch.mjs');
writeFileSync(
  launcher,
  `import { main } from ${JSON.stringify(ENTRY)};
await main(process.argv.slice(2));
`,
);
after(() => rmSync(launchFolder, { recursive: true }));

function serval(...args: string[]): Ended {
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  return spawnSync(process.execPath, [launcher, ...args], options);
}

test('version is that of package.json', () => {
  let folder = dirname(fileURLToPath(import.meta.url));
  const manifest = (): string => join(folder, 'package.json');
  const text = (): string | undefined => {
    try {
      return readFileSync(manifest(), 'utf8');
    } catch {
      return undefined;
    }
  };
  while (text() === undefined) folder = dirname(folder);
  const { version } = JSON.parse(text() ?? '') as { version: string };
  const asked = [
    ['version'],
    ['--version'],
    ['-v'],
    ['serve', 'm', '-v'],
    ['inspect', '--version'],
  ];
  for (const args of asked) {
    const expected = { status: 0, stdout: `serval ${version}\n`, stderr: '' };
    assert.deepEqual(pick(serval(...args)), expected, args.join(' '));
  }
});

function pick({ status, stdout, stderr }: Ended): Ended {
  return { status, stdout, stderr };
}

test('help, wherever it is asked for', () => {
  const same: [string[], string[]][] = [
    [['help'], ['--help']],
    [['help'], ['-h']],
    [
      ['help', 'serve'],
      ['serve', 'm.onnx', '--http-port=x', '--help'],
    ],
    [
      ['help', 'serve', 'all'],
      ['serve', '--help', 'all'],
    ],
    [
      ['help', 'serve', 'all'],
      ['serve', '--help=all'],
    ],
    [
      ['help', 'inspect'],
      ['inspect', '-h'],
    ],
    [
      ['help', 'key'],
      ['key', 'NAME', '--help'],
    ],
    [['help'], ['help', '--help']],
  ];
  for (const [args, others] of same) {
    const help = pick(serval(...args));
    assert.equal(help.status, 0, help.stderr);
    assert.deepEqual(pick(serval(...others)), help, others.join(' '));
  }
});

test('a wrong command line exits 2 with one line on stderr', () => {
  const cases: [string[], RegExp][] = [
    [[], /expected a command/],
    [['serv'], /unknown command "serv"; did you mean "serve"\?/],
    [['xylophone'], /unknown command "xylophone". See/],
    [[process.execPath], /did you mean "serve" before it\?/],
    [['help', 'serv'], /help: expected a command, got "serv"; did you mean "serve"\?/],
    [['completion', 'bsh'], /expected bash or zsh or fish, got "bsh"; did you mean "bash"\?/],
    [['serve', 'm', '--log-format=jsn'], /text or json, got "jsn"; did you mean "json"\?/],
    [['serve', 'm', '--exec-mode=zzz'], /auto or inline or queued, got "zzz"\n$/],
    [['serve'], /nothing to serve/],
    [['serve', 'm', '--http-prot=1'], /did you mean --http-port\?/],
    [['serve', 'm', '--config=/none.yaml'], /\/none.yaml: cannot read/],
    [['inspect'], /inspect: expected one PATH, got 0/],
    [['inspect', 'a', 'b'], /inspect: expected one PATH, got 2/],
    [['inspect', 'a', '--http-port=1'], /unknown flag "--http-port=1"/],
    [
      ['inspect', 'a', '--json=maybe'],
      /--json: expected true \(on, 1\) or false \(off, 0\), got "maybe"/,
    ],
  ];
  for (const [args, message] of cases) {
    const ended = serval(...args);
    assert.equal(ended.status, 2, args.join(' '));
    assert.equal(ended.stdout, '');
    assert.match(ended.stderr, message);
    assert.match(ended.stderr, /^serval: .*\n$/);
  }
});

test('a missing path exits 1 and is named', (t) => {
  const folder = filledFolder(t, { 'bad.onnx': 'this is a text file' });
  const missing = join(folder, 'none');
  const inspect = serval('inspect', missing);
  assert.deepEqual(pick(inspect), {
    status: 1,
    stdout: '',
    stderr: `serval: ${missing}: no such file or folder\n`,
  });
  const corrupt = serval('inspect', join(folder, 'bad.onnx'));
  assert.equal(corrupt.status, 1);
  assert.match(corrupt.stderr, /bad.onnx: not a valid ONNX file at byte 0/);
  const around = serval('inspect', folder);
  assert.equal(around.status, 1);
  assert.match(around.stderr, /bad.onnx: not a valid ONNX file at byte 0/, 'its one file');
});
