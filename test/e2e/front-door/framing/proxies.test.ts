// nginx and HAProxy, as in Debian, in front of the default listener: valid pipelined requests in
// random pieces get the responses that Serval gives directly, and for all framing cases Serval sees
// exactly the requests that the proxy reports to have forwarded: nothing can be smuggled. Source:
// RFC 9112 11.2; nginx's proxy_pass, HAProxy's http-reuse and httpchk.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { mapAtOnce } from './at-once.js';
import { FRAMING } from './cases.js';
import { answersOf, converse } from './conversation.js';
import {
  haproxyText,
  missingProgram,
  nginxText,
  startHaproxy,
  startNginx,
  type Running,
} from './proxy-servers.js';
import { CHUNKED, LIVE, NEXT, PREDICT } from './row.js';
import { ModelFolders } from '../../support/model-folders.js';
import { until } from '../../support/polling.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../../support/serval-process.js';

const AT_ONCE = 16;
/** The time that a proxy may wait for the rest of a case. */
const WAITS_MS = 1000;
const STREAMS = 25;
const READY = '/v2/health/ready';

const KEEPS = 'proxy_http_version 1.1; proxy_set_header Connection "";';
const NO_NGINX = missingProgram('nginx', 'nginx-light');
const NO_HAPROXY = missingProgram('haproxy', 'haproxy');

interface Front {
  readonly name: string;
  readonly skip: string | false;
  readonly start: (folder: string, upstream: number) => Promise<Running>;
  /** "METHOD path" of each request that it has forwarded so far. */
  readonly handedOn: (folder: string, running: Running) => readonly string[];
  /** How many of these it gave up itself: Serval may or may not have answered them. */
  readonly givenUp: (running: Running) => number;
}

function nginx(name: string, lines: string): Front {
  return {
    name: `nginx, ${name}`,
    skip: NO_NGINX,
    start: (folder, upstream) =>
      startNginx(folder, (port) =>
        nginxText(
          folder,
          `upstream behind { server 127.0.0.1:${upstream}; keepalive 8; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://behind; ${lines} } }`,
        ),
      ),
    givenUp: () => 0,
    handedOn: (folder) =>
      linesOf(join(folder, 'access.log')).flatMap((line) => {
        const [, what = '', target = ''] = /^(\S+) (\S+) \d+ upstream=\d+$/.exec(line) ?? [];
        return what === '' ? [] : [`${what} ${pathOf(target)}`];
      }),
  };
}

const FRONTS: readonly Front[] = [
  nginx('connections that stay', KEEPS),
  nginx('as it is by default (HTTP/1.0)', ''),
  nginx('bodies as they come', `${KEEPS} proxy_request_buffering off;`),
  {
    name: 'HAProxy, http-reuse always',
    skip: NO_HAPROXY,
    start: (folder, upstream) =>
      startHaproxy(folder, (port) => haproxyText(port, upstream, `option httpchk GET ${READY}`)),
    // Two letters are the reason why a request ended; "--": the server's complete response.
    givenUp: (running) => running.output().match(/ serval (?!--)..$/gm)?.length ?? 0,
    handedOn: (_folder, running) =>
      [...running.output().matchAll(/seen (\S+) (\S+) -?\d+ serval ..$/gm)].map(
        ([, method = '', target = '']) => `${method} ${pathOf(target)}`,
      ),
  },
];

/** nginx writes some characters as \xHH. */
const pathOf = (target: string): string =>
  target
    .replaceAll(/\\x([\dA-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replace(/^https?:\/\/[^/?]*/i, '')
    .replace(/[?#].*$/s, '') || '/';

const linesOf = (file: string): readonly string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');

/**
 * The requests that Serval answered, by its access log: "METHOD path", or "" if it refused
 * unreadable bytes.
 */
function answeredBy(log: string): readonly string[] {
  return linesOf(log)
    .map((line) => JSON.parse(line) as { status: number; call?: string; model?: string })
    .filter(({ status, call }) => status !== 499 && call !== `GET ${READY}`)
    .map(({ call, model }) => {
      if (call !== undefined) return call.replace(/#.*/s, '');
      return model === undefined ? '' : `POST /v1/models/${model}:predict`;
    });
}

/** The entries of `calls` that occur less often in `others`. */
function missingIn(others: readonly string[], calls: readonly string[]): readonly string[] {
  const left = [...others];
  return calls.filter((call) => {
    const at = left.indexOf(call);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Whole numbers below `count`, the same for each seed. Source: mulberry32. */
function randomOf(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  };
}

/** A valid request of a random kind. */
function requestOf(below: (count: number) => number): string {
  const body = `{"instances":[${below(1000)}]}${' '.repeat(below(300))}`;
  const head = `POST ${PREDICT} HTTP/1.1\r\nHost: test\r\nX-Number: ${below(1000)}\r\n`;
  const length = `Content-Length: ${body.length}\r\n`;
  const at = 1 + below(body.length - 1);
  const [one, two] = [body.slice(0, at), body.slice(at)];
  const chunk = (text: string): string => `${text.length.toString(16)};a=b\r\n${text}\r\n`;
  const coded = `${CHUNKED}\r\n\r\n${chunk(one)}${chunk(two)}0\r\nX-Sum: 1\r\n\r\n`;
  return (
    [
      `GET ${LIVE}?${below(1000)} HTTP/1.1\r\nHost: test\r\n\r\n`,
      `HEAD ${LIVE} HTTP/1.1\r\nHost: test\r\n\r\n`,
      `GET /v2/models/none${below(1000)} HTTP/1.1\r\nHost: test\r\n\r\n`,
      `${head}${length}\r\n${body}`,
      `${head}${length}Expect: 100-continue\r\n\r\n${body}`,
      head + coded,
      head + coded,
    ][below(7)] ?? ''
  );
}

function piecesOf(text: string, below: (count: number) => number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let rest = text; rest !== ''; ) {
    const count = 1 + below(Math.min(rest.length, 200));
    pieces.push(Buffer.from(rest.slice(0, count), 'latin1'));
    rest = rest.slice(count);
  }
  return pieces;
}

for (const front of FRONTS) {
  describe(front.name, { skip: front.skip }, () => {
    const folders = new ModelFolders();
    const folder = join(folders.folder, 'proxy');
    const log = join(folders.folder, 'access.log');
    let server: ServalProcess;
    let proxy: Running;
    before(async () => {
      const models = folders.repository('proxies', ['half_plus_three']);
      server = await startServer([
        ...[models, '--exec-mode', 'inline', '--http-threads', '1'],
        ...['--access-log', log],
      ]);
      proxy = await front.start(folder, server.httpPort);
    });
    after(async () => {
      await proxy.stop();
      await server.stop();
      folders.remove();
    });

    it('hands on what Serval sees, and nothing is smuggled past it', async () => {
      await mapAtOnce(FRAMING, AT_ONCE, async (one) => {
        await converse(proxy.port, one.bytes, one.ends, WAITS_MS);
      });
      const over = Buffer.from('GET /over HTTP/1.0\r\n\r\n');
      await converse(proxy.port, over, false, DEADLINE_MS);
      const seen = (): readonly string[] => answeredBy(log);
      const handedOn = (): readonly string[] => front.handedOn(folder, proxy);
      await until(
        'the last request in both logs',
        () => [seen(), handedOn()].every((calls) => calls.includes('GET /over')),
        () => `${seen().length} and ${handedOn().length} lines; ${proxy.output()}`,
      );
      const read = seen().filter((call) => call !== '');
      assert.deepEqual(missingIn(handedOn(), read), [], 'Serval read what nobody handed on');
      const [most, few] = [handedOn().length, front.givenUp(proxy)];
      assert.ok(few < 10 && seen().length <= most, `${seen().length} of ${most} requests`);
      assert.ok(
        seen().length >= most - few,
        `${seen().length} of ${most} requests, ${few} given up`,
      );
      assert.ok(seen().length > FRAMING.length / 2, 'most of the valid ones come through');
    });

    it('gives the answers to valid streams that Serval gives', async () => {
      const seed = Number(process.env['SERVAL_STREAM_SEED'] ?? Date.now() % 2 ** 31);
      const below = randomOf(seed);
      for (let i = 0; i < STREAMS; i += 1) {
        const requests = Array.from({ length: 2 + below(6) }, () => requestOf(below));
        const stream = requests.join('') + NEXT;
        const bytes = Buffer.from(stream, 'latin1');
        const direct = await converse(server.httpPort, bytes, false, DEADLINE_MS);
        const pieces = piecesOf(stream, below);
        const through = await converse(proxy.port, pieces, false, DEADLINE_MS);
        const shown = ({ text }: { readonly text: string }): unknown =>
          answersOf(text).map(({ status, body }) => [status, body]);
        const where = `SERVAL_STREAM_SEED=${seed}, stream ${i}: ${stream}\n${through.text}`;
        assert.deepEqual(shown(through), shown(direct), where);
        assert.equal(answersOf(through.text).length, requests.length + 1, where);
      }
    });

    it('passes health checks of HTTP/1.0', {
      skip: !front.name.startsWith('HAProxy') && 'nginx makes no health checks',
    }, async () => {
      const passed = /Health check for server \S+ succeeded.*Layer7 check passed, code: 200/;
      await until(
        'a health check',
        () => passed.test(proxy.output()),
        () => proxy.output(),
      );
      assert.doesNotMatch(proxy.output(), / is DOWN/);
    });
  });
}
