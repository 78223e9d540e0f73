// The metrics page about the server itself: refused requests by reason, connections by listener,
// expiry of certificates, problems of repositories. Source: docs/reference/metrics.md.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, after, describe, it } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { Certificates, type Pair } from '../support/certificates.js';
import { overListeners } from '../support/http-listeners.js';
import { freePort } from '../support/free-port.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, put, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const INFER = '/inference.GRPCInferenceService/ModelInfer';
const LIVE = '/inference.GRPCInferenceService/ServerLive';
const types = messageTypes();

const folders = new ModelFolders();
const certificates = new Certificates();
after(() => {
  folders.remove();
  certificates.remove();
});
const models = folders.repository('counted', ['half_plus_three']);
const keys = join(folders.folder, 'keys');
writeFileSync(keys, `somebody sha256:${digestOf('a key')} inference\n`, { mode: 0o600 });

async function started(
  context: TestContext,
  flags: readonly string[] = [],
): Promise<{ server: ServalProcess; values: Values }> {
  const port = await freePort();
  const server = await startServer([models, '--metrics-port', String(port), ...flags]);
  context.after(() => server.stop());
  return { server, values: new Values(port) };
}

/** Values of the page on the metrics port, whose connections belong to no listener. */
class Values {
  constructor(private readonly port: number) {}

  async of(series: string): Promise<number | undefined> {
    const page = (await exchange(this.port, 'GET', '/metrics')).body.toString();
    const line = page.split('\n').find((one) => one.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  become(series: string, value: number): Promise<true | undefined> {
    let seen: number | undefined;
    return until(
      `${series} ${value}`,
      async () => {
        seen = await this.of(series);
        return seen === value ? true : undefined;
      },
      () => seen,
    );
  }
}

const refused = (reason: string): string => `serval_requests_refused_total{reason="${reason}"}`;
const connections = (listener: string): string => `serval_connections{listener="${listener}"}`;
const expiry = (transport: string): string =>
  `serval_tls_certificate_expiry_seconds{transport="${transport}"}`;

/** The time at which it expires, according to openssl. */
function endOf({ certificate }: Pair): number {
  const said = execFileSync('openssl', ['x509', '-noout', '-enddate', '-in', certificate], {
    encoding: 'utf8',
  });
  return Date.parse(said.replace('notAfter=', '')) / 1000;
}

overListeners('metrics of the HTTP listener', (flags) => {
  it('count refused requests by reason', async (context) => {
    const limit = ['--body-bytes-max', '1000'];
    const { server, values } = await started(context, [...flags, ...limit]);
    assert.equal(await values.of(refused('not_found')), 0);
    assert.equal((await infer(server, 'none', v2Body('x', [1]))).status, 404);
    await values.become(refused('not_found'), 1);
    const path = '/v2/models/half_plus_three/infer';
    const large = 'x'.repeat(2000);
    const pieces = ['Transfer-Encoding: chunked'];
    const whole = `7d0\r\n${large}\r\n0\r\n\r\n`;
    assert.equal((await exchange(server.httpPort, 'POST', path, whole, pieces)).status, 413);
    await values.become(refused('body_too_large'), 1);
    assert.equal((await infer(server, 'half_plus_three', v2Body('x', [1]))).status, 200);
    assert.equal(await values.of(refused('other')), 0);
  });

  it('count callers that are not admitted', async (context) => {
    const { server, values } = await started(context, [...flags, '--api-key-file', keys]);
    assert.equal((await infer(server, 'half_plus_three', v2Body('x', [1]))).status, 401);
    await values.become(refused('access'), 1);
  });

  it('count connections', async (context) => {
    const { server, values } = await started(context, flags);
    await values.become(connections('http'), 0);
    const open = [
      await RawConnection.open(server.httpPort),
      await RawConnection.open(server.httpPort),
    ];
    for (const one of open) {
      await one.write(requestBytes('GET', '/v2/health/live'));
      await one.response();
    }
    await values.become(connections('http'), 2);
    for (const one of open) one.close();
    await values.become(connections('http'), 0);
  });

  it('say when the certificate ends, of the newest', async (context) => {
    const pair = certificates.copied(certificates.server, `http-${flags.join('')}`);
    const tls = ['--tls-cert', pair.certificate, '--tls-key', pair.key];
    const open = ['--admin-address', '127.0.0.1:0'];
    const { server, values } = await started(context, [...flags, ...tls, ...open]);
    assert.equal(await values.of(expiry('admin')), endOf(certificates.server));
    assert.equal(await values.of(expiry('http')), endOf(certificates.server));
    assert.equal(await values.of(expiry('grpc')), endOf(certificates.server));
    const later = certificates.lasting('later', 9);
    assert.notEqual(endOf(later), endOf(certificates.server));
    certificates.replace(pair, later);
    server.signal('SIGHUP');
    for (const one of ['http', 'grpc', 'admin']) await values.become(expiry(one), endOf(later));
  });

  it("count pages of others that would change the server, and leave others' reads alone", async (context) => {
    const { server, values } = await started(context, flags);
    const from = async (method: string, path: string): Promise<number> =>
      (await exchange(server.httpPort, method, path, '', ['Origin: http://evil.example'])).status;
    assert.equal(await from('POST', '/v2/repository/models/half_plus_three/unload'), 403);
    await values.become(refused('access'), 1);
    assert.equal(await from('GET', '/v2/models/half_plus_three'), 200);
    assert.equal(await values.of(refused('access')), 1);
  });
});

describe('metrics of the gRPC listener', () => {
  const message = (model: string): Buffer =>
    encode(types, 'inference.ModelInferRequest', {
      model_name: model,
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
    });

  it('count connections, and refused calls', async (context) => {
    const { server, values } = await started(context, ['--api-key-file', keys]);
    assert.equal(await values.of(connections('grpc')), 0);
    const client = new RawClient(server.grpcPort);
    assert.equal((await client.unary(LIVE, Buffer.alloc(0))).code, 0);
    await values.become(connections('grpc'), 1);
    assert.equal((await client.unary(INFER, message('half_plus_three'))).code, 16);
    await values.become(refused('access'), 1);
    client.close();
    await values.become(connections('grpc'), 0);
  });

  it('count unknown models and invalid messages', async (context) => {
    const { server, values } = await started(context);
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    assert.equal((await client.unary(INFER, message('none'))).code, 5);
    await values.become(refused('not_found'), 1);
    assert.equal((await client.unary(INFER, Buffer.from('garbage'))).code, 3);
    await values.become(refused('malformed'), 1);
  });

  it('say when the certificate ends, of the newest', async (context) => {
    const pair = certificates.copied(certificates.server, `grpc`);
    const tls = ['--tls-cert', pair.certificate, '--tls-key', pair.key, '--http-use-ssl=false'];
    const { values } = await started(context, [...tls]);
    assert.equal(await values.of(expiry('grpc')), endOf(certificates.server));
    assert.equal(await values.of(expiry('http')), undefined);
    const later = certificates.lasting('later-grpc', 9);
    certificates.replace(pair, later);
    await values.become(expiry('grpc'), endOf(later));
  });
});

it('problems of repositories are on the page while they are there', async (context) => {
  const folder = folders.repository('problems', ['half_plus_three']);
  const port = await freePort();
  const polled = ['--model-control-mode', 'poll', '--repository-poll-secs', '1'];
  const flags = ['--metrics-port', String(port), ...polled, '--settle-ms', '0'];
  const server = await startServer([folder, ...flags]);
  context.after(() => server.stop());
  const values = new Values(port);
  const unserved = 'serval_repository_problems{kind="unserved"}';
  assert.equal(await values.of(unserved), 0);
  put(join(folder, 'wrong', 'config.pbtxt'), 'name: "wrong" no such field');
  await until('it is counted', async () => ((await values.of(unserved)) ?? 0) > 0);
  put(join(folder, 'wrong', 'config.pbtxt'), '');
  execFileSync('rm', ['-r', join(folder, 'wrong')]);
  await values.become(unserved, 0);
  const looks = await values.of('serval_repository_looks_total');
  assert.ok((looks ?? 0) > 0);
});
