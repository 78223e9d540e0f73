// The pages "coming from TensorFlow Serving", "coming from Triton" and "security": every command on
// them is run, in order, with the page's own variables set to a temporary folder and free ports.
// The migration pages begin in an empty folder and make their own models; the others use fixtures.
// support/doc-blocks.ts explains the fences.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { packageRoot } from '../../ts/base/package-files.js';
import { outsideAddress } from './support/addresses.js';
import { docBlocks, exportedNames, type DocBlock } from './support/doc-blocks.js';
import { freePort } from './support/free-port.js';
import { ModelFolders } from './support/model-folders.js';
import { findPython } from './support/python-suites.js';
import { DEADLINE_MS } from './support/serval-process.js';

const PAGES = [
  'guides/coming-from-tensorflow-serving',
  'guides/coming-from-triton',
  'guides/security',
  'reference/tabular',
];
/** Pages that make the models that they use. */
const MAKES_MODELS = /coming-from/;
const MODELS = ['half_plus_three', 'versions', 'mlp'];
const run = promisify(execFile);

/** A command of the page that serves; ended by SIGTERM. */
class Serving {
  readonly child: ChildProcess;
  output = '';
  private ended = false;
  private readonly over: Promise<number | null>;

  constructor(command: string, env: NodeJS.ProcessEnv) {
    // exec: the signal must reach the server, not the shell.
    this.child = spawn('bash', ['-euo', 'pipefail', '-c', `exec ${command}`], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.over = new Promise((resolve) => {
      this.child.on('close', (code) => {
        this.ended = true;
        resolve(code);
      });
    });
  }

  /** Settles when it reports that it is ready. */
  async ready(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not ready: ${this.output}`)), DEADLINE_MS);
      const look = (text: string): void => {
        this.output += text;
        if (!this.output.includes('serval is ready')) return;
        clearTimeout(timer);
        resolve();
      };
      this.child.stdout?.setEncoding('utf8').on('data', look);
      this.child.stderr?.setEncoding('utf8').on('data', look);
      void this.over.then((code) => {
        clearTimeout(timer);
        reject(new Error(`ended with ${code}: ${this.output}`));
      });
    });
  }

  async stop(): Promise<number | null> {
    if (!this.ended) this.child.kill('SIGTERM');
    return this.over;
  }
}

function perfAnalyzer(): string | undefined {
  const script = join(packageRoot(), 'test', 'env', 'perf-analyzer.sh');
  const { status, stdout } = spawnSync(script, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** One page from its first block to its last. */
class Page {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  readonly tools: ReadonlyMap<string, string>;
  private serving: Serving | undefined;
  private printed = '';
  private skipped = false;

  constructor(name: string, env: NodeJS.ProcessEnv, tools: ReadonlyMap<string, string>) {
    this.name = name;
    this.env = env;
    this.tools = tools;
  }

  async take(block: DocBlock, context: TestContext): Promise<void> {
    const where = `${this.name}.md:${block.line}`;
    switch (block.kind) {
      case 'setup':
        for (const name of exportedNames(block.text)) {
          assert.ok(this.env[name], `${where}: the test gives ${name} no value`);
        }
        return;
      case 'before':
        return;
      case 'file':
        this.write(block);
        return;
      case 'serve':
        await this.serve(block.text);
        return;
      case 'run':
        this.skipped = block.detail !== '' && !this.tools.has(block.detail);
        if (this.skipped) context.skip(`${where}: no ${block.detail}`);
        else this.printed = await this.output('bash', ['-euo', 'pipefail', '-c', block.text]);
        return;
      case 'python':
        this.skipped = !this.tools.has('python');
        if (this.skipped) context.skip(`${where}: no Python environment`);
        else this.printed = await this.output(this.tools.get('python') ?? '', ['-c', block.text]);
        return;
      case 'json':
        if (this.skipped) return;
        assert.deepEqual(JSON.parse(this.printed), JSON.parse(block.text), where);
        return;
      case 'text':
        if (!this.skipped) this.contains(block.text, where);
        return;
    }
  }

  /** Ends the serving command, which must exit successfully. */
  async end(): Promise<void> {
    if (this.serving === undefined) return;
    const { serving } = this;
    this.serving = undefined;
    const code = await serving.stop();
    assert.equal(code, 0, serving.output);
  }

  private contains(lines: string, where: string): void {
    let from = 0;
    for (const line of lines.split('\n')) {
      const found = this.printed.indexOf(line, from);
      assert.ok(found >= 0, `${where}: no ${line} behind byte ${from} of\n${this.printed}`);
      from = found + line.length;
    }
  }

  private write({ detail, text }: DocBlock): void {
    const path = join(this.env['WORK'] ?? '', detail);
    const inPlace = text
      .replaceAll('/etc/serval', this.env['WORK'] ?? '')
      .replaceAll('"/models', `"${this.env['MODELS'] ?? ''}`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${inPlace}\n`);
  }

  private async serve(command: string): Promise<void> {
    await this.end();
    this.serving = new Serving(command, this.env);
    await this.serving.ready();
    this.printed = this.serving.output;
    this.skipped = false;
  }

  private async output(program: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(program, args, { env: this.env, timeout: DEADLINE_MS });
    return stdout;
  }
}

describe('the commands of the pages', () => {
  const folders = new ModelFolders();
  const models = folders.repository('pages', MODELS);
  after(() => folders.remove());
  const { python } = findPython();
  const analyzer = perfAnalyzer();
  const tools = new Map<string, string>();
  if (python !== '') tools.set('python', python);
  const address = outsideAddress();
  if (address !== undefined) tools.set('address', address);
  if (analyzer !== undefined) tools.set('perf_analyzer', analyzer);
  const path =
    analyzer === undefined
      ? (process.env['PATH'] ?? '')
      : `${dirname(analyzer)}:${process.env['PATH'] ?? ''}`;

  for (const name of PAGES) {
    it(name, async (context) => {
      const blocks = docBlocks(readFileSync(join(packageRoot(), 'docs', `${name}.md`), 'utf8'));
      const work = join(folders.folder, basename(name));
      mkdirSync(work);
      const ports = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
      const page = new Page(
        name,
        {
          ...process.env,
          PATH: path,
          MODELS: MAKES_MODELS.test(name) ? join(work, 'models') : models,
          WORK: work,
          SERVAL: `${process.execPath} ${join(packageRoot(), 'bin', 'serval.mjs')}`,
          HTTP_PORT: String(ports[0]),
          GRPC_PORT: String(ports[1]),
          METRICS_PORT: String(ports[2]),
          ADMIN_PORT: String(ports[3]),
          ADDRESS: address ?? '127.0.0.1',
        },
        tools,
      );
      try {
        for (const block of blocks) {
          const [first = ''] = block.text.split('\n');
          await context.test(`${name}.md:${block.line} ${block.kind} ${first}`, (inner) =>
            page.take(block, inner),
          );
        }
      } finally {
        await page.end();
      }
    });
  }

  it('are marked, every one', () => {
    const setup = '```sh setup\nexport A=1 B=2 # C=3\n```\n';
    assert.deepEqual(exportedNames(docBlocks(setup)[0]?.text ?? ''), ['A', 'B']);
    assert.throws(() => docBlocks(`${setup}\`\`\`sh\nls\n\`\`\`\n`), /line 4: unknown fence "sh"/);
    assert.throws(() => docBlocks(`${setup}\`\`\`sh run\nls\n`), /not closed/);
    assert.throws(() => docBlocks('```sh run\nls\n```\n'), /"sh setup" first/);
    const [, tool, file] = docBlocks(
      `${setup}\`\`\`sh run if=x\nls\n\`\`\`\n\`\`\`text file=a/b.c\nx\n\`\`\`\n`,
    );
    assert.deepEqual([tool?.detail, file?.detail, file?.text], ['x', 'a/b.c', 'x']);
  });
});
