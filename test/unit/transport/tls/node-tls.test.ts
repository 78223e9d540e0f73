// TLS of the gRPC listener on grpc-js, with certificates of the test's own: what is agreed on,
// whose certificates are taken, files that are read anew, files that are no good.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import { ErrorCode, ServalError } from '../../../../ts/errors.js';
import type { GrpcReply, GrpcUnaryCall } from '../../../../ts/transport/grpc-call.js';
import { GrpcListener, type GrpcListenerOptions } from '../../../../ts/transport/grpc-listener.js';
import type { HandshakeFailures } from '../../../../ts/transport/grpc/settings.js';
import type { ServerTls } from '../../../../ts/transport/tls/settings.js';
import { Certificates, type Pair } from '../../../e2e/support/certificates.js';
import { RawClient } from '../../protocols/raw-client.js';

const HOST = '127.0.0.1';
const ECHO = '/test.Service/Echo';

let certificates: Certificates;
before(() => {
  certificates = new Certificates();
});
after(() => certificates.remove());

const service = {
  name: 'test.Service',
  unary: { Echo: (call: GrpcUnaryCall, reply: GrpcReply) => reply(null, call.request) },
  streams: {},
};

const tlsOf = (pair: Pair, mutual = false): ServerTls => ({
  certificate: { path: pair.certificate },
  key: { path: pair.key },
  ...(mutual && { roots: { path: certificates.authority.certificate } }),
  clientRequired: mutual,
});

async function started(options: Partial<GrpcListenerOptions> & { readonly tls: ServerTls }) {
  const listener = new GrpcListener({ host: HOST, port: 0, services: [service], ...options });
  return { listener, port: await listener.start() };
}

function clientOf(port: number, pair?: Pair): RawClient {
  const authority = readFileSync(certificates.authority.certificate);
  const [key, chain] = pair ? [readFileSync(pair.key), readFileSync(pair.certificate)] : [];
  return new RawClient(port, {}, credentials.createSsl(authority, key ?? null, chain ?? null));
}

/** Of one handshake: the client's end, or its error's code. */
function shakeHands(port: number, options: ConnectionOptions): Promise<TLSSocket | string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: HOST, rejectUnauthorized: false, ...options }, () =>
      resolve(socket),
    );
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

const closed = (socket: TLSSocket): Promise<void> =>
  new Promise((resolve) => {
    socket.once('close', () => resolve());
    socket.resume();
  });

describe('gRPC on grpc-js over TLS', () => {
  it('answers small and large calls, and drains', async () => {
    const { listener, port } = await started({ tls: tlsOf(certificates.server) });
    const client = clientOf(port);
    for (const size of [3, 3_000_001]) {
      const sent = Buffer.alloc(size, 7);
      assert.ok((await client.unary(ECHO, sent)).message?.equals(sent));
    }
    client.close();
    assert.deepEqual(await listener.drain(5), { requests: 0, models: {} });
  });

  it('takes certificates given as text', async () => {
    const { server } = certificates;
    const tls = {
      certificate: { text: readFileSync(server.certificate, 'utf8') },
      key: { text: readFileSync(server.key, 'utf8') },
      clientRequired: false,
    };
    const { listener, port } = await started({ tls });
    const client = clientOf(port);
    assert.equal((await client.unary(ECHO, Buffer.from('x'))).code, 0);
    client.close();
    await listener.drain(0);
  });

  it('lets in whose certificate the authority signed, and nobody else', async () => {
    const { listener, port } = await started({ tls: tlsOf(certificates.server, true) });
    const outcomes: number[] = [];
    for (const pair of [certificates.client, certificates.stranger, undefined]) {
      const client = clientOf(port, pair);
      outcomes.push((await client.unary(ECHO, Buffer.from('x'))).code);
      client.close();
    }
    assert.deepEqual(outcomes, [0, 14, 14]);
    await listener.drain(0);
  });

  it('speaks nothing but HTTP/2, by TLS 1.2 or newer', async () => {
    const { listener, port } = await started({ tls: tlsOf(certificates.server) });
    assert.match(String(await shakeHands(port, { ALPNProtocols: ['http/1.1'] })), /PROTOCOL/);
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' } as const;
    assert.equal(typeof (await shakeHands(port, { ALPNProtocols: ['h2'], ...old })), 'string');
    const unnamed = await shakeHands(port, {});
    assert.ok(typeof unnamed !== 'string');
    await closed(unnamed);
    await listener.drain(0);
  });

  it('closes who does not shake hands in time, and tells of who said something', async () => {
    const failed: HandshakeFailures[] = [];
    const peers: string[] = [];
    const { listener, port } = await started({
      tls: tlsOf(certificates.server),
      handshakeMsMax: 100,
      handshakeFailed: (one) => failed.push(one),
    });
    for (const said of ['', '\u0016\u0003\u0001', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']) {
      const socket = connectTcp(port, HOST);
      socket.once('connect', () => peers.push(`${HOST}:${String(socket.localPort)}`));
      socket.write(said);
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        socket.resume();
      });
    }
    assert.deepEqual(
      failed.map(({ failures, peer }) => [failures, peer]),
      [
        [1, peers[1]],
        [2, peers[2]],
      ],
    );
    assert.equal(failed[0]?.reason, 'TLS handshake timeout');
    assert.match(failed[1]?.reason ?? '', /wrong version number|http request/);
    await listener.drain(0);
  });
});

describe('certificates of gRPC on grpc-js', () => {
  const served = async (port: number): Promise<string | undefined> => {
    const socket = await shakeHands(port, { ALPNProtocols: ['h2'] });
    assert.ok(typeof socket !== 'string');
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  };

  it('are read anew when the files change; bad ones leave the old ones', async () => {
    const pair = certificates.signed('changing', certificates.authority);
    const told: (string | undefined)[] = [];
    let tell = (): void => undefined;
    const next = (): Promise<void> =>
      new Promise((resolve) => {
        tell = resolve;
      });
    const { listener, port } = await started({
      tls: tlsOf(pair),
      certificates: (problem) => {
        told.push(problem);
        tell();
      },
    });
    const first = await served(port);
    const changed = next();
    certificates.replace(pair, certificates.signed('newer', certificates.authority));
    await changed;
    while (told.at(-1) !== undefined) await next(); // between its two files
    const second = await served(port);
    assert.notEqual(second, first);
    const broken = next();
    writeFileSync(pair.key, 'no key');
    await broken;
    assert.match(told.at(-1) ?? '', new RegExp(`^gRPC cannot use TLS: key file ${pair.key}: `));
    assert.equal(await served(port), second);
    listener.reloadCertificates();
    assert.match(told.at(-1) ?? '', /key file/);
    await listener.drain(0);
  });

  it('that are no good are errors that name the file', () => {
    const refused = (tls: ServerTls, message: RegExp): void => {
      assert.throws(
        () => new GrpcListener({ host: HOST, port: 0, services: [], tls }),
        (error) =>
          error instanceof ServalError &&
          error.code === ErrorCode.InvalidArgument &&
          message.test(error.message),
      );
    };
    const { server, client } = certificates;
    const good = tlsOf(server);
    refused(
      { ...good, certificate: { path: '/not/there' } },
      /certificate file \/not\/there: ENOENT/,
    );
    refused({ ...good, certificate: { text: 'x' } }, /TLS: certificate given as text: /);
    refused({ ...good, key: { path: client.key } }, /TLS: key file .*client\.key: .*mismatch/);
    refused({ ...good, roots: { text: 'x' } }, /TLS: root certificates given as text: /);
  });
});
