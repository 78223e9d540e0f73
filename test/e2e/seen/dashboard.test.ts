// deploy/: every query of the dashboard against our page, scraped by a real Prometheus, its alerts
// against promtool, and our page against promtool's rules. Source: docs/reference/metrics.md.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { Certificates } from '../support/certificates.js';
import { freePort } from '../support/free-port.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const DEPLOY = join(packageRoot(), 'deploy');
const STARTED_MS = 60_000;
const DATA_MS = 120_000;

/**
 * Panels with a query that has no data until something happens, and that event; none of them
 * happens here. Everything else has data as soon as there is traffic, as docs/reference/metrics.md
 * says.
 */
const EMPTY_UNTIL: Readonly<Record<string, string>> = {};

/**
 * Triton's own names, and their units, do not follow Prometheus's conventions; and one of Serval's
 * names is older than this check.
 */
const OTHER_NAMES = /^(nv_|serval_batch_padding_rows )/;

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string }[];
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
}

interface Dashboard {
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: unknown;
    }[];
  };
}

const dashboard = JSON.parse(
  readFileSync(join(DEPLOY, 'grafana', 'serval.json'), 'utf8'),
) as Dashboard;

/** Fills in Grafana's values for "All" and a scrape each second. */
const filled = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replace(/\$(model|instance)\b/g, '.*');

const missing = (): string | false => {
  const found = spawnSync('promtool', ['--version']).status === 0;
  return !found && 'no prometheus and promtool here: scripts/ensure-tools.sh test';
};

const promtool = (args: readonly string[], input = '', cwd = DEPLOY) =>
  spawnSync('promtool', args, { input, cwd, encoding: 'utf8' });

class Prometheus {
  #process: ChildProcess | undefined;
  #port = 0;
  #said = '';

  async start(folder: string, target: number): Promise<void> {
    const config = join(folder, 'prometheus.yml');
    writeFileSync(
      config,
      `global: { scrape_interval: 1s, scrape_timeout: 1s }
rule_files: ['${join(DEPLOY, 'prometheus', 'serval.rules.yml')}']
scrape_configs:
  - job_name: serval
    static_configs: [{ targets: ['127.0.0.1:${target}'] }]
`,
    );
    this.#port = await freePort();
    const data = join(folder, 'data');
    mkdirSync(data);
    this.#process = spawn(
      'prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${data}`,
        `--web.listen-address=127.0.0.1:${this.#port}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process.stderr?.on('data', (text: Buffer) => {
      this.#said += text.toString();
    });
    const ready = async (): Promise<boolean> => {
      const answer = await exchange(this.#port, 'GET', '/-/ready').catch(() => undefined);
      return answer?.status === 200;
    };
    await until('Prometheus is ready', ready, () => this.#said, STARTED_MS);
  }

  stop(): void {
    this.#process?.kill('SIGKILL');
  }

  /** The values of an instant query. */
  async values(expr: string): Promise<readonly number[]> {
    const body = (await this.#ask(`query?query=${encodeURIComponent(expr)}`)) as {
      readonly status: string;
      readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] };
    };
    assert.equal(body.status, 'success', `${expr}: ${JSON.stringify(body)}`);
    return (body.data?.result ?? []).map(({ value }) => Number(value[1]));
  }

  async #ask(what: string): Promise<unknown> {
    return (await fetch(`http://127.0.0.1:${this.#port}/api/v1/${what}`)).json();
  }

  async rules(): Promise<readonly string[]> {
    const answer = (await this.#ask('rules')) as {
      readonly data: {
        readonly groups: readonly {
          readonly rules: readonly { readonly name: string; readonly lastError?: string }[];
        }[];
      };
    };
    const rules = answer.data.groups.flatMap((group) => group.rules);
    for (const { name, lastError } of rules) assert.equal(lastError ?? '', '', name);
    return rules.map(({ name }) => name);
  }
}

describe('the dashboard', { skip: missing() }, () => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  const prometheus = new Prometheus();
  let server: ServalProcess;

  before(async () => {
    const good = ['half_plus_three', 'mlp', 'fails_at_run'];
    const models = folders.repository('shown', good, ['corrupt']);
    const { certificate, key } = certificates.server;
    const tls = ['--tls-cert', certificate, '--tls-key', key, '--http-use-ssl=false'];
    server = await startServer([models, ...tls, '--strict-readiness=false']);
    await prometheus.start(folders.folder, server.httpPort);
  });
  after(async () => {
    prometheus.stop();
    await server.stop();
    folders.remove();
    certificates.remove();
  });

  /** Some of everything that the page counts. */
  const traffic = async (): Promise<void> => {
    await infer(server, 'half_plus_three', v2Body('x', [1, 2]));
    const outside = { name: 'index', datatype: 'INT64', shape: [1], data: [99] };
    await infer(server, 'fails_at_run', JSON.stringify({ inputs: [outside] }));
    await infer(server, 'nowhere', v2Body('x', [1]));
  };

  it('has a variable for the data source, and panels in rows', () => {
    assert.ok(dashboard.schemaVersion >= 36);
    assert.deepEqual(
      dashboard.templating.list.map(({ name, type }) => `${name} ${type}`),
      ['datasource datasource', 'instance query', 'model query'],
    );
    assert.deepEqual(
      dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title),
      [
        'Traffic',
        'Latency',
        'Errors and refusals',
        'Batching',
        'Memory',
        'Repository',
        'TLS',
        'Listeners: HTTP and gRPC',
      ],
    );
    const places = new Set<string>();
    for (const { title, type, datasource, targets = [], gridPos } of dashboard.panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, `${title} is on the page`);
      assert.ok(!places.has(`${gridPos.x} ${gridPos.y}`), `${title} is beside the others`);
      places.add(`${gridPos.x} ${gridPos.y}`);
      if (type === 'row') continue;
      assert.equal(datasource?.uid, '${datasource}', title);
      assert.ok(targets.length > 0, title);
    }
  });

  it('has queries that each find data', { timeout: 300_000 }, async () => {
    const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ title, expr: filled(expr) })),
    );
    assert.ok(queries.length > 40, `${queries.length} queries`);
    for (const { title, expr } of queries) {
      if (EMPTY_UNTIL[title] !== undefined) continue;
      await until(
        `${title}: ${expr}`,
        async () => {
          await traffic();
          const values = await prometheus.values(expr);
          return values.some((value) => Number.isFinite(value));
        },
        () => 'no data',
        DATA_MS,
      );
    }
  });

  it('fills its variables', async () => {
    for (const { name, type, query } of dashboard.templating.list) {
      if (type !== 'query') continue;
      const text = (query as { readonly query: string }).query;
      const [, series = '', label] = /^label_values\((.+), (\w+)\)$/.exec(text) ?? [];
      const found = await prometheus.values(`count by (${label}) (${filled(series)})`);
      assert.ok(found.length > 0, name);
    }
  });

  it('has alerts beside it that Prometheus takes, and that ring when they should', async () => {
    const tested = promtool(['test', 'rules', join('prometheus', 'serval.rules.test.yml')]);
    assert.equal(tested.status, 0, tested.stdout + tested.stderr);
    assert.deepEqual([...(await prometheus.rules())].sort(), [
      'ServalCertificateEnds',
      'ServalFailures',
      'ServalLoadFailed',
      'ServalMemoryRefused',
      'ServalModelNotServed',
      'ServalNotReady',
      'ServalRepositoryProblem',
    ]);
    // Every series that an alert reads is on the page.
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    const rules = readFileSync(join(DEPLOY, 'prometheus', 'serval.rules.yml'), 'utf8');
    for (const [name] of rules.matchAll(/\b(?:serval|nv)_[a-z_]+/g)) {
      assert.match(page, new RegExp(`^${name}[ {]`, 'm'), name);
    }
  });

  it('reads a page that promtool finds no fault with, but for the names of others', async () => {
    await traffic();
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    const { stdout, stderr, status } = promtool(['check', 'metrics'], page);
    // 3: it has advice, and could parse the page.
    assert.ok(status === 0 || status === 3, `${status} ${stderr}`);
    const ours = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line !== '' && !OTHER_NAMES.test(line));
    assert.deepEqual(ours, []);
  });
});
