// Runs blocks of the quick starts as a user pastes them, in an empty folder with only the npm
// package, which is packed here. Only the package's path and the ports differ. Test time only.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../ts/base/package-files.js';
import { fromScript } from '../clients/support.js';
import { freePort } from '../e2e/support/free-port.js';
import type { Block } from './blocks.js';

const DEADLINE_MS = 240_000;
// Job control as in a user's shell: `kill %1` reaches npx and its children. No process is left.
const PROLOGUE = `set -meuo pipefail
ended() { for job in $(jobs -p); do kill -- "-$job" 2>/dev/null || true; done; wait; }
trap ended EXIT
`;
const TSC = join(packageRoot(), 'node_modules', 'typescript', 'bin', 'tsc');
/** TypeScript is only checked. */
const PROGRAMS = {
  python: { extension: 'py', command: 'python' },
  js: { extension: 'mjs', command: 'node' },
  ts: {
    extension: 'mts',
    command: `node ${TSC} --noEmit --strict --module nodenext --target es2022`,
  },
};
const MARK = '@@ next block';
/** In the order of docs/guides/quickstart.md. */
export const LIBRARIES = ['keras', 'sklearn', 'torch', 'pyspark', 'xgboost', 'lightgbm'] as const;
export type Library = (typeof LIBRARIES)[number];

/** The library with which a block makes its model. */
export function libraryOf({ text, line }: Block): Library {
  const found = LIBRARIES.find((name) => new RegExp(`^(import|from) ${name}\\b`, 'm').test(text));
  assert.ok(found !== undefined, `line ${line}: no import of ${LIBRARIES.join(', ')}`);
  return found;
}

export class QuickStarts {
  private readonly folder = mkdtempSync(join(tmpdir(), 'serval-quickstart-'));
  private tarball = '';
  private count = 0;

  /** `npm pack`, once. */
  private packed(): string {
    if (this.tarball !== '') return this.tarball;
    const args = ['pack', '--silent', '--pack-destination', this.folder];
    const { status, stdout, stderr } = spawnSync('npm', args, {
      cwd: packageRoot(),
      encoding: 'utf8',
    });
    assert.equal(status, 0, `npm pack: ${stdout}${stderr}`);
    this.tarball = join(this.folder, `serval-${version()}.tgz`);
    assert.ok(existsSync(this.tarball), this.tarball);
    return this.tarball;
  }

  /**
   * Returns the output of each block; they run in order, in one shell, in one new folder. `python`
   * is the folder of an interpreter of that name. Throws if one fails.
   */
  async run(blocks: readonly Block[], python: string): Promise<readonly string[]> {
    this.count += 1;
    const cwd = join(this.folder, `empty-${this.count}`);
    mkdirSync(cwd);
    const ports = [await freePort(), await freePort()] as const;
    const commands = blocks.map((block, i) => this.command(block, i, ports, cwd));
    const script = join(this.folder, `block-${this.count}.sh`);
    writeFileSync(script, `${PROLOGUE}${commands.join(`\necho '${MARK}'\n`)}\n`);
    const { code, stdout, stderr } = await ended(script, cwd, this.environment(python));
    const log = join(cwd, 'serving.log');
    const served = existsSync(log) ? readFileSync(log, 'utf8') : '';
    assert.equal(code, 0, `ended with ${code}: ${stdout}\n${stderr}\n${served}`);
    return stdout.split(`${MARK}\n`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private command(
    block: Block,
    index: number,
    [http, grpc]: readonly [number, number],
    cwd: string,
  ) {
    const text = block.text
      .replaceAll(`~/serval-${version()}.tgz`, this.packed())
      .replaceAll('localhost:8000', `localhost:${http}`)
      .replaceAll('localhost:8001', `localhost:${grpc}`)
      .replace(
        /^npx serval serve (.*) &$/m,
        `npx serval serve --http-port ${http} --grpc-port ${grpc} $1 > serving.log 2>&1 &`,
      );
    assert.doesNotMatch(text, /~|\b800\d\b|serve .*[^1] &$/m, `line ${block.line}: not replaced`);
    if (block.language === 'sh') return text;
    const { extension, command } = PROGRAMS[block.language];
    const program = `client-${index}.${extension}`;
    writeFileSync(join(cwd, program), text);
    return `${command} ${program}`;
  }

  // No registry: the package contains everything that it needs.
  private environment(python: string): NodeJS.ProcessEnv {
    return {
      ...process.env,
      PATH: `${python}:${process.env['PATH'] ?? ''}`,
      TF_CPP_MIN_LOG_LEVEL: '3',
      npm_config_registry: 'http://127.0.0.1:1',
      npm_config_cache: join(this.folder, 'npm-cache'),
      npm_config_loglevel: 'silent',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    };
  }

  /** The folder of a `python` that has the library, or why there is none. */
  python(library: Library): { readonly folder: string; readonly missing: string } {
    if (library === 'torch') return this.debianPython();
    if (library === 'pyspark' && spawnSync('java', ['-version']).status !== 0) {
      return { folder: '', missing: 'no java here; Debian has it in default-jdk-headless' };
    }
    const scripts = {
      keras: ['tensorflow-env.sh'],
      sklearn: ['quickstart-env.sh'],
      pyspark: ['tabular-env.sh'],
      xgboost: ['quickstart-env.sh', 'trees'],
      lightgbm: ['quickstart-env.sh', 'trees'],
    } as const;
    const [script, ...args] = scripts[library];
    const { lines, missing } = fromScript(script, ...args);
    return { folder: join(lines[0] ?? '', 'bin'), missing };
  }

  // Debian's PyTorch is for the system's Python, which is only called python3.
  private debianPython(): { readonly folder: string; readonly missing: string } {
    const system = '/usr/bin/python3';
    const { status } = spawnSync(system, ['-c', 'import torch.onnx']);
    if (status !== 0) return { folder: '', missing: 'no PyTorch here; Debian has python3-torch' };
    const folder = join(this.folder, 'bin');
    mkdirSync(folder, { recursive: true });
    if (!existsSync(join(folder, 'python'))) symlinkSync(system, join(folder, 'python'));
    return { folder, missing: '' };
  }
}

function version(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

async function ended(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('bash', [script], {
    cwd,
    env: { ...env, HOME: dirname(script) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const late = setTimeout(() => child.kill('SIGTERM'), DEADLINE_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', (status) => resolve(status));
  });
  clearTimeout(late);
  return { code, stdout, stderr };
}
