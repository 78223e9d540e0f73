// Shell completion in real shells: Tab is typed in an interactive bash and zsh on a terminal, and
// fish is queried; and the manual page, read by man. A shell that is not installed is skipped.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { COMMANDS } from '../../../ts/cli/help/commands.js';
import { manPage } from '../../../ts/cli/help/man-page.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { DEADLINE_MS } from '../support/serval-process.js';

/** The typed text, and the arguments with which the shell then runs serval. */
const TYPED: readonly (readonly [string, readonly string[]])[] = [
  ['serval insp\\t m', ['inspect', 'm']],
  ['serval serve --http-po\\t 0', ['serve', '--http-port', '0']],
  ['serval serve --http-listener u\\t', ['serve', '--http-listener', 'uws']],
  ['serval serve --log-format=js\\t', ['serve', '--log-format=json']],
  [
    'serval serve --rest_api --allow-metrics f\\t',
    ['serve', '--rest_api', '--allow-metrics', 'false'],
  ],
  ['serval serve --config ser\\t', ['serve', '--config', 'serval.yaml']],
  ['serval serve --model-repository mod\\t', ['serve', '--model-repository', 'models/']],
  ['serval serve my\\t', ['serve', 'my model.onnx']],
  ['serval inspect --js\\t true my\\t', ['inspect', '--json', 'true', 'my model.onnx']],
  ['serval completion z\\t', ['completion', 'zsh']],
  ['serval help insp\\t', ['help', 'inspect']],
  ['serval gpu ado\\t mod\\t', ['gpu', 'adopt', 'models/']],
];

/** All of fish's completions for the typed text. */
const OFFERED: readonly (readonly [string, readonly string[]])[] = [
  ['serval insp', ['inspect']],
  ['serval serve --http-po', ['--http-port']],
  ['serval serve --http-listener u', ['uws']],
  ['serval serve --log-format=js', ['--log-format=json']],
  ['serval serve --config ser', ['serval.yaml']],
  ['serval serve --model-repository mod', ['models/']],
  ['serval serve my', ['my model.onnx']],
  ['serval completion z', ['zsh']],
  ['serval help insp', ['inspect']],
  ['serval gpu ado', ['adopt']],
  ['serval gpu adopt mod', ['models/']],
];

const has = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args).status === 0;

function output(program: string, args: readonly string[], input = ''): string {
  const options = { encoding: 'utf8', timeout: DEADLINE_MS, input } as const;
  const { status, stdout, stderr, error } = spawnSync(program, args, options);
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${error?.message ?? ''}${stderr}`);
  return stdout;
}

describe('completion', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-completion-'));
  const here = join(folder, 'here');
  const serval = join(packageRoot(), 'bin', 'serval.mjs');
  const script = (shell: string): string => {
    const path = join(folder, `completion.${shell}`);
    writeFileSync(path, output(process.execPath, [serval, 'completion', shell]));
    return path;
  };
  before(() => {
    mkdirSync(join(here, 'models'), { recursive: true });
    for (const name of ['serval.yaml', 'my model.onnx']) writeFileSync(join(here, name), '');
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const shell of ['bash', 'zsh']) {
    const skip = !has(shell, '-c', ':') && `no ${shell}`;
    it(`by the Tab key of ${shell}`, { skip }, () => {
      const typist = join(packageRoot(), 'test', 'e2e', 'terminal', 'complete.py');
      const lines = TYPED.map(([line]) => line);
      const printed = output('python3', [typist, shell, script(shell), here, ...lines]);
      // The shell may remove a slash after a folder's name when the line ends.
      const plain = (text: string): string => text.replaceAll('models/', 'models');
      assert.deepEqual(
        printed.trimEnd().split('\n').map(plain),
        TYPED.map(([, args]) => plain(args.map((arg) => `<${arg}>`).join(''))),
      );
    });
  }

  it('by fish', { skip: !has('fish', '-c', 'true') && 'no fish' }, () => {
    const path = script('fish');
    for (const [typed, wanted] of OFFERED) {
      const asked = `source ${path}; cd ${here}; complete -C '${typed}'`;
      const offered = output('fish', ['--no-config', '-c', asked]).trimEnd().split('\n');
      const words = offered.map((one) => one.split('\t')[0]);
      assert.deepEqual(words, wanted, typed);
    }
  });

  it('has every command and flag', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const text = output(process.execPath, [serval, 'completion', shell]);
      for (const { name, flags } of COMMANDS) {
        assert.ok(text.includes(name), `${shell}: ${name}`);
        for (const one of flags) assert.ok(text.includes(one.name), `${shell}: ${one.name}`);
      }
    }
  });
});

describe('the manual page', () => {
  const skip = !has('groff', '--version') && 'no groff';
  it('is read by groff without a warning', { skip }, () => {
    const args = ['-man', '-Tutf8', '-ww', '-rLL=100n', '-P-c', '-'];
    const { stdout, stderr } = spawnSync('groff', args, {
      encoding: 'utf8',
      input: manPage('1.2.3', '2026-01-31'),
    });
    assert.equal(stderr, '');
    const text = stdout.replace(/.\u0008/g, '');
    for (const { name, summary } of COMMANDS) {
      assert.ok(text.includes(name) && text.replace(/\s+/g, ' ').includes(summary), name);
    }
    assert.match(text, /--http-port, --rest-api-port PORT/);
  });
});
