// Output and arguments of the commands: the ready line and table, lines to copy, inspect, version,
// configuration files, the spellings of other servers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { CALL_GROUPS } from '../../ts/access/groups.js';
import { packageRoot } from '../../ts/base/package-files.js';
import { ModelFolders } from './support/model-folders.js';
import { exchange, jsonOf } from './support/raw-http.js';
import { ServalProcess, runServal, startServer } from './support/serval-process.js';

const ROWS = '{"instances":[1.0,2.0,5.0]}';
const ANY_PORTS = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
const TYPED = [
  'add_sub',
  'identity_bool',
  'identity_int64',
  'scalar',
  'text_identity',
  'multi_output',
  'mixed_inputs',
  'unknown_rank',
];

describe('command line', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  const predicts = async (port: number, model: string): Promise<void> => {
    const response = await exchange(port, 'POST', `/v1/models/${model}:predict`, ROWS);
    assert.deepEqual(jsonOf(response), { predictions: [3.5, 4, 5.5] });
  };

  /** `serval serve` with its human-readable output; settles when it is ready. */
  const startedForPeople = async (context: TestContext, path: string): Promise<ServalProcess> => {
    const server = new ServalProcess(['serve', ...ANY_PORTS, path]);
    context.after(() => server.stop());
    await server.printed(({ stdout }) => /^serval is .*: HTTP on .*\n/m.test(stdout));
    return server;
  };

  it('prints one JSON line when it is ready, and nothing else on stdout', async (context) => {
    const server = await startServer([folders.repository('json', ['half_plus_three'])]);
    context.after(() => server.stop());
    const host = '127.0.0.1';
    assert.deepEqual(JSON.parse(server.stdout), {
      event: 'ready',
      http: { host, port: server.httpPort },
      grpc: { host, port: server.grpcPort },
      access: {
        open: CALL_GROUPS.filter((group) => group !== 'console'),
        changesFromAnywhere: [],
        changesFromHere: ['control', 'logging', 'tracing', 'shared-memory'],
        byHeader: [],
      },
      pid: server.child.pid,
    });
    assert.match(server.stdout, /^[^\n]+\n$/);
    for (const line of server.stderr.trim().split('\n')) {
      const { level, message } = JSON.parse(line) as { level: string; message: string };
      assert.ok(level.length > 0 && message.length > 0);
    }
    await predicts(server.httpPort, 'half_plus_three');
  });

  it('prints a table of the models', async (context) => {
    const models = folders.repository('table', ['half_plus_three', 'versions'], ['corrupt']);
    const { stdout } = await startedForPeople(context, models);
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    const row = (name: string) => rows.find(([first]) => first === name) ?? [];
    assert.deepEqual(row('half_plus_three').slice(0, 4), [
      'half_plus_three',
      '123',
      'AVAILABLE',
      'onnx',
    ]);
    assert.match(row('half_plus_three')[4] ?? '', /^x FP32 \[.*\] -> y FP32 \[.*\]$/);
    assert.equal(row('versions')[1], '10');
    assert.deepEqual(row('corrupt').slice(1), ['1', 'FAILED', 'onnx', '-']);
    assert.match(stdout, /^ {2}model 'corrupt', version 1: .*corrupt\/1\/model\.onnx/m);
  });

  for (const model of TYPED) {
    it(`prints lines to paste that work: ${model}`, async (context) => {
      const { stdout } = await startedForPeople(context, join(folders.models, model));
      const lines = stdout.split('\n').map((line) => line.trim());
      const curls = lines.filter((line) => line.startsWith('curl '));
      assert.equal(curls.length, 2, stdout);
      for (const line of curls) {
        const text = execFileSync('bash', ['-c', line], { stdio: ['ignore', 'pipe', 'ignore'] });
        const reply = JSON.parse(text.toString()) as object;
        const [member] = Object.keys(reply).filter((key) => key !== 'model_name');
        assert.ok(
          ['predictions', 'outputs', 'model_version'].includes(member ?? ''),
          `${line}: ${JSON.stringify(reply)}`,
        );
      }
      assert.doesNotMatch(stdout, /printf/);
      const grpcurl = lines.filter((line) => line.startsWith('grpcurl '));
      assert.equal(grpcurl.length, 1);
      const [, body = ''] = /-d '(.*)' \S+ inference/.exec(grpcurl[0] ?? '') ?? [];
      assert.equal((JSON.parse(body) as { model_name: string }).model_name, model);
    });
  }

  it('accepts the spellings of Triton and of TensorFlow Serving', async (context) => {
    const repository = folders.repository('triton', ['half_plus_three']);
    const base = join(folders.models, 'half_plus_three');
    for (const [args, model] of [
      [['--model-repository', repository], 'half_plus_three'],
      [[`--model_repository=${repository}`], 'half_plus_three'],
      [['--model-store', repository], 'half_plus_three'],
      [['--model_name=tf', `--model_base_path=${base}`], 'tf'],
      [['--model-base-path', base], 'default'],
      [[join(base, '123', 'model.onnx')], 'model'],
      [[base], 'half_plus_three'],
      [[join(folders.models, 'scalar'), base, '--model-repository', repository], 'half_plus_three'],
    ] as const) {
      const server = await startServer([...args, '--log-level', 'error']);
      await predicts(server.httpPort, model);
      await server.stop();
    }
    const ports = ['--rest_api_port=0', '--port=0', '--host', '127.0.0.1', '--log_format=json'];
    const server = new ServalProcess(['serve', ...ports, base]);
    context.after(() => server.stop());
    await server.printed(({ stdout }) => stdout.includes('\n'));
    assert.equal((JSON.parse(server.stdout) as { event: string }).event, 'ready');
  });

  it('reads --config, over which flags win', async (context) => {
    const repository = folders.repository('config', ['half_plus_three'], ['corrupt']);
    const file = join(folders.folder, 'serval.yaml');
    writeFileSync(
      file,
      [
        'model-repository:',
        `  - ${repository}`,
        'health_body: empty',
        'strictReadiness: false',
        'body-bytes-max: 50',
        'log-level: error',
        '',
      ].join('\n'),
    );
    const server = await startServer(['--config', file, '--body-bytes-max', '60']);
    context.after(() => server.stop());
    const ready = await exchange(server.httpPort, 'GET', '/v2/health/ready');
    assert.deepEqual([ready.status, ready.body.length], [200, 0]);
    const path = '/v1/models/half_plus_three:predict';
    const fits = await exchange(server.httpPort, 'POST', path, ROWS.padEnd(60));
    assert.equal(fits.status, 200);
    const over = await exchange(server.httpPort, 'POST', path, ROWS.padEnd(61));
    assert.equal(over.status, 413);
    writeFileSync(file, 'http-port: 8000\nhealth-bdoy: empty\n');
    const run = await runServal(['serve', '--config', file]);
    assert.equal(run.code, 2);
    assert.match(run.stderr, /serval\.yaml.*2.*health-bdoy.*health-body/s);
  });

  it('inspects a model for people and as JSON', async () => {
    const path = join(folders.models, 'multi_output');
    const text = await runServal(['inspect', path]);
    assert.equal(text.code, 0);
    for (const line of [
      /^model +multi_output$/m,
      /^version +1 of 1$/m,
      /^size +\d+ bytes$/m,
      /^format +onnx, IR 8, opset ai\.onnx 17$/m,
      /^producer +serval/m,
      /^signature serving_default$/m,
      /^ +x {2}FP32 {2}\[batch,4\]$/m,
      /^ +whole {2}INT64 {2}\[batch,4\]$/m,
    ])
      assert.match(text.stdout, line);
    const json = await runServal(['inspect', '--json', path]);
    const report = JSON.parse(json.stdout) as Record<string, unknown> & {
      signatures: [{ name: string; outputs: { name: string; datatype: string }[] }];
    };
    const file = join(path, '1', 'model.onnx');
    assert.deepEqual(
      [report['name'], report['version'], report['path'], report['fileBytes']],
      ['multi_output', '1', file, readFileSync(file).length],
    );
    assert.deepEqual(
      report.signatures[0].outputs.map(({ name, datatype }) => [name, datatype]),
      [
        ['doubled', 'FP32'],
        ['whole', 'INT64'],
        ['positive', 'BOOL'],
      ],
    );
  });

  it('inspects nothing that is no model, and says why', async () => {
    for (const [path, text] of [
      [join(folders.folder, 'broken', 'corrupt'), /corrupt/],
      [join(folders.folder, 'broken', 'not_onnx'), /not_onnx/],
      ['/nowhere', /\/nowhere: no such file or folder/],
    ] as const) {
      const run = await runServal(['inspect', path]);
      assert.deepEqual([run.code, run.stdout], [1, '']);
      assert.match(run.stderr, text);
    }
  });

  it('says its version, and helps', async () => {
    const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
      version: string;
    };
    for (const argument of ['version', '--version']) {
      const run = await runServal([argument]);
      assert.deepEqual([run.code, run.stdout], [0, `serval ${version}\n`]);
    }
    for (const args of [['help'], ['--help']]) {
      const run = await runServal(args);
      assert.equal(run.code, 0);
      for (const word of ['serval serve', 'serval inspect', 'serval predict', 'help COMMAND']) {
        assert.ok(run.stdout.includes(word), `${args.join(' ')}: ${word}`);
      }
    }
    for (const args of [
      ['serve', '--help', 'all'],
      ['help', 'serve', 'all'],
    ]) {
      const run = await runServal(args);
      assert.equal(run.code, 0);
      for (const flag of ['--http-port', '--model-repository', '--drain-seconds']) {
        assert.ok(run.stdout.includes(flag), `${args.join(' ')}: ${flag}`);
      }
    }
    const unknown = await runServal(['sevre']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /unknown command "sevre"; did you mean "serve"\?/);
  });
});
