// A server that may open few files: connections that say nothing lock nobody out, on neither port,
// cost no processor time, and are told of in one line.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { until } from '../support/polling.js';
import { RawConnection, exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const LIVE = '/inference.GRPCInferenceService/ServerLive';
const FEW = ['prlimit', '--nofile=256:256'];

describe('few descriptors', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('descriptors', ['half_plus_three']);
  });
  after(() => folders.remove());

  const cpuSeconds = (server: ServalProcess): number => {
    const stat = readFileSync(`/proc/${server.child.pid}/stat`, 'utf8').split(') ')[1] ?? '';
    const fields = stat.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  const warnings = (server: ServalProcess): number =>
    server.stderr.split('too many connections').length - 1;

  it('--max-connections counts for each port', async (context) => {
    const server = await startServer([models, '--max-connections', '3']);
    context.after(() => server.stop());
    for (const port of [server.httpPort, server.grpcPort]) {
      const open: RawConnection[] = [];
      context.after(() => open.forEach((one) => one.close()));
      const told = warnings(server);
      for (let i = 0; i < 6; i += 1) {
        const one = await RawConnection.open(port).catch(() => undefined);
        if (one !== undefined) open.push(one);
      }
      await until(
        'a warning',
        () => warnings(server) > told,
        () => server.stderr,
      );
    }
    assert.match(server.stderr, /too many connections; refusing new ones","connections":3/);
  });

  for (const [kind, listener] of [
    ['http', 'uws'],
    ['http', 'native'],
    ['grpc', 'uws'],
  ] as const) {
    it(`silent ${kind} connections lock nobody out (${listener})`, async (context) => {
      const flags = ['--http-threads', '1', '--http-listener', listener];
      const server = await startServer([models, ...flags], {}, FEW);
      context.after(() => server.stop());
      const port = kind === 'http' ? server.httpPort : server.grpcPort;
      const other = new RawClient(server.grpcPort);
      context.after(() => other.close());
      const open: RawConnection[] = [];
      context.after(() => open.forEach((one) => one.close()));
      for (let i = 0; i < 300; i += 1) {
        const one = await RawConnection.open(port).catch(() => undefined);
        if (one !== undefined) open.push(one);
      }
      await until(
        'a warning',
        () => warnings(server) > 0,
        () => server.stderr,
      );
      // The other port is not touched.
      if (kind === 'grpc') {
        assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/live')).status, 200);
      } else {
        assert.equal((await other.unary(LIVE, Buffer.alloc(0))).code, 0);
      }
      const before = cpuSeconds(server);
      // This one is there again when the silent ones are cut, after ten seconds or so.
      await until('a client that is served', async () => {
        if (kind === 'grpc') {
          const client = new RawClient(port);
          const { code } = await client.unary(LIVE, Buffer.alloc(0));
          client.close();
          return code === 0;
        }
        const response = await exchange(port, 'GET', '/v2/health/live').catch(() => undefined);
        return response?.status === 200;
      });
      assert.ok(cpuSeconds(server) - before < 4, 'it spun while it was full');
      assert.equal(warnings(server), 1);
    });
  }
});
