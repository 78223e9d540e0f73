// The OpenAPI document passes a public validator, and clients that other generators make from it,
// in Python and TypeScript, call models.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../ts/base/package-files.js';
import { exchange } from '../e2e/support/raw-http.js';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import { fromScript } from './support.js';

const PYTHON = `
import sys
from made import Client
from made.api.half_plus_three import infer_half_plus_three, predict_half_plus_three
from made.models import (HalfPlusThreeInferRequest, HalfPlusThreeInput0,
                         HalfPlusThreePredictRequest)

client = Client(base_url=sys.argv[1])
tensor = HalfPlusThreeInput0(name='x', shape=[3], datatype='FP32', data=[1.0, 2.0, 5.0])
answer = infer_half_plus_three.sync(client=client, body=HalfPlusThreeInferRequest(inputs=[tensor]))
print(answer.model_name, answer.outputs[0].name, answer.outputs[0].data)
body = HalfPlusThreePredictRequest(instances=[1.0, 2.0])
print(predict_half_plus_three.sync(client=client, body=body).predictions)
`;
const PYTHON_ROWS = `
import io, sys
from rows import Client
from rows.api.loan_risk import csv_loan_risk
from rows.types import File

client = Client(base_url=sys.argv[1])
table = File(payload=io.BytesIO(b'amount,income,purpose\\n900,1000,car\\n'))
print(csv_loan_risk.sync_detailed(client=client, body=table).content.decode(), end='')
`;
const TYPESCRIPT = `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' });
const { data, error } = await client.POST('/v2/models/half_plus_three/infer', {
  body: { inputs: [{ name: 'x', shape: [3], datatype: 'FP32', data: [1, 2, 5] }] },
});
if (data === undefined) throw new Error(error?.error);
console.log(data.model_name, data.outputs[0]?.name, JSON.stringify(data.outputs[0]?.data));
const bad = await client.POST('/v2/models/half_plus_three/infer', {
  // @ts-expect-error: the schema says which datatype it is.
  body: { inputs: [{ name: 'x', shape: [1], datatype: 'INT32', data: [1] }] },
});
console.log(bad.response.status, typeof bad.error?.error);
`;
const COMPILE = ['--strict', '--module', 'nodenext', '--target', 'es2022'];
const NODE_TYPES = 'declare const process: { argv: string[] };\n';

describe('GET /openapi.json', () => {
  const { lines, missing } = fromScript('openapi/make.sh');
  const [tools = ''] = lines;
  const folders = new ModelFolders();
  let server: ServalProcess;
  let url = '';
  before(async () => {
    const names = ['half_plus_three', 'add_sub', 'text_identity'];
    server = await startServer([folders.repository('openapi', names)]);
    url = `http://127.0.0.1:${server.httpPort}`;
    const { body } = await exchange(server.httpPort, 'GET', '/openapi.json');
    writeFileSync(join(folders.folder, 'api.json'), body);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const run = (program: string, ...args: readonly string[]): string => {
    const path = `${join(tools, 'bin')}:${process.env['PATH'] ?? ''}`;
    const env = { ...process.env, PATH: path };
    return execFileSync(program, args, { cwd: folders.folder, encoding: 'utf8', env });
  };
  const python = (...args: readonly string[]): string => run(join(tools, 'bin', 'python'), ...args);

  it('has every model with an example that is answered', async () => {
    const { body } = await exchange(server.httpPort, 'GET', '/openapi.json');
    const { paths } = JSON.parse(body.toString()) as {
      paths: Record<string, { post?: Posted }>;
    };
    const examples = Object.entries(paths).flatMap(([path, { post }]) => {
      const example = post?.requestBody.content['application/json']?.example;
      return example === undefined ? [] : [[path, JSON.stringify(example)] as const];
    });
    assert.equal(examples.length, 6);
    for (const [path, example] of examples) {
      const answer = await exchange(server.httpPort, 'POST', path, example);
      assert.equal(answer.status, 200, `${path} ${answer.body.toString()}`);
    }
  });

  it('describes one model on request, and reports a missing one', async () => {
    const { body } = await exchange(server.httpPort, 'GET', '/openapi.json?model=add_sub');
    const names = Object.keys((JSON.parse(body.toString()) as { paths: object }).paths);
    assert.ok(names.includes('/v2/models/add_sub/infer'));
    assert.ok(!names.includes('/v2/models/half_plus_three/infer'));
    for (const [query, status] of [
      ['?model=nope', 404],
      ['?x=1', 400],
    ] as const) {
      const answer = await exchange(server.httpPort, 'GET', `/openapi.json${query}`);
      assert.equal(answer.status, status, query);
    }
    assert.equal((await exchange(server.httpPort, 'POST', '/openapi.json')).status, 405);
  });

  it('is valid', { skip: missing !== '' && missing }, () => {
    assert.match(python('-m', 'openapi_spec_validator', '--schema', '3.1', 'api.json'), /OK/);
  });

  it('makes a client in Python', { skip: missing !== '' && missing }, () => {
    const where = ['--path', 'api.json', '--output-path', 'made', '--meta', 'none'];
    const made = python('-m', 'openapi_python_client', 'generate', ...where);
    assert.doesNotMatch(made, /WARNING/);
    writeFileSync(join(folders.folder, 'call.py'), PYTHON);
    const expected = 'half_plus_three y [3.5, 4.0, 5.5]\n[3.5, 4.0]\n';
    assert.equal(python('call.py', url), expected);
  });

  it('makes a client in Python that sends CSV', { skip: missing !== '' && missing }, async () => {
    const rows = await startServer([join(packageRoot(), 'examples', 'models', 'loan_risk')]);
    try {
      const { body } = await exchange(rows.httpPort, 'GET', '/openapi.json');
      writeFileSync(join(folders.folder, 'rows.json'), body);
      assert.match(python('-m', 'openapi_spec_validator', '--schema', '3.1', 'rows.json'), /OK/);
      const where = ['--path', 'rows.json', '--output-path', 'rows', '--meta', 'none'];
      python('-m', 'openapi_python_client', 'generate', ...where);
      writeFileSync(join(folders.folder, 'call_rows.py'), PYTHON_ROWS);
      const at = `http://127.0.0.1:${rows.httpPort}`;
      const sent = 'amount,income,purpose\n900,1000,car\n';
      const wanted = await exchange(rows.httpPort, 'POST', '/v2/models/loan_risk/csv', sent);
      assert.equal(wanted.status, 200);
      assert.equal(python('call_rows.py', at), wanted.body.toString());
    } finally {
      await rows.stop();
    }
  });

  it('makes a client in TypeScript', { skip: missing !== '' && missing }, () => {
    const packages = join(folders.folder, 'node_modules');
    symlinkSync(join(tools, 'node_modules'), packages);
    writeFileSync(join(folders.folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folders.folder, 'call.ts'), `${NODE_TYPES}${TYPESCRIPT}`);
    const bin = (name: string): string => join(packages, name);
    run(process.execPath, bin('openapi-typescript/bin/cli.js'), 'api.json', '-o', 'api.ts');
    run(process.execPath, bin('typescript/bin/tsc'), ...COMPILE, 'call.ts');
    const printed = run(process.execPath, 'call.js', url);
    assert.equal(printed, 'half_plus_three y [3.5,4,5.5]\n400 string\n');
  });
});

interface Posted {
  readonly requestBody: {
    readonly content: Readonly<Record<string, { readonly example?: unknown } | undefined>>;
  };
}
