// A package index for a test: pages of links, as JSON or HTML, and files whose downloads may be
// interrupted. Test time only.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Wheel } from '../../../../ts/models/placement/wheels.js';
import { zipOf, type ZipEntry } from '../../importers/plan/archive/archives.js';

export interface IndexServer {
  readonly url: string;
  /** "GET /simple/a/", "GET /files/a.whl bytes=10-" */
  readonly asked: string[];
  readonly files: Map<string, Buffer>;
  /** For each file, the byte counts after which its next responses break off. */
  readonly cuts: Map<string, number[]>;
  kind: 'json' | 'html';
  /** The "Basic ..." header that every request must have; "" = none. */
  login: string;
  /** True if range requests are supported. */
  ranges: boolean;
}

/** A wheel with these files, and its pin. */
export function wheelOf(
  name: string,
  entries: readonly ZipEntry[],
  wanted = /\/lib\/lib\w+\.so\.1$/,
): { readonly wheel: Wheel; readonly bytes: Buffer } {
  const bytes = zipOf(entries);
  return {
    bytes,
    wheel: {
      package: name,
      version: '1.0',
      least: '1.0',
      file: `${name.replaceAll('-', '_')}-1.0-py3-none-any.whl`,
      bytes: bytes.byteLength,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      unpackedBytes: 1000,
      wanted,
      about: 'a test',
    },
  };
}

export async function indexServer(context: TestContext): Promise<IndexServer> {
  const server = createServer((request, response) => answer(index, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const index: IndexServer = {
    url: `http://127.0.0.1:${port}/simple`,
    asked: [],
    files: new Map(),
    cuts: new Map(),
    kind: 'json',
    login: '',
    ranges: true,
  };
  return index;
}

function answer(index: IndexServer, request: IncomingMessage, response: ServerResponse): void {
  const { url = '', headers } = request;
  index.asked.push(['GET', url, headers.range].filter((word) => word !== undefined).join(' '));
  if (index.login !== '' && headers.authorization !== index.login) return end(response, 401);
  const page = /^\/simple\/([\w-]+)\/$/.exec(url)?.[1];
  if (page !== undefined) return answerPage(index, page, response);
  const moved = /^\/files\/(.+)$/.exec(url)?.[1];
  if (moved !== undefined) {
    response.writeHead(302, { location: `/store/${moved}` }).end();
    return undefined;
  }
  const name = /^\/store\/(.+)$/.exec(url)?.[1] ?? '';
  const bytes = index.files.get(name);
  if (bytes === undefined) return end(response, 404);
  return answerFile(index, name, bytes, headers.range, response);
}

const end = (response: ServerResponse, status: number): void => {
  response.writeHead(status).end();
};

function answerPage(index: IndexServer, page: string, response: ServerResponse): void {
  const prefix = page.replaceAll('-', '_');
  const names = [...index.files.keys()].filter((name) => name.startsWith(prefix));
  if (names.length === 0) return end(response, 404);
  if (index.kind === 'json') {
    const files = names.map((filename) => ({ filename, url: `/files/${filename}` }));
    response.writeHead(200, { 'content-type': 'application/vnd.pypi.simple.v1+json' });
    response.end(JSON.stringify({ files }));
    return undefined;
  }
  const links = names.map(
    (name) => `<a class="x"\n href="../../files/${name}#sha256=0">${name}</a>`,
  );
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(`<!DOCTYPE html><html><body>${links.join('<br>')}</body></html>`);
  return undefined;
}

function answerFile(
  index: IndexServer,
  name: string,
  bytes: Buffer,
  range: string | undefined,
  response: ServerResponse,
): void {
  const from = index.ranges ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
  const rest = bytes.subarray(from);
  const { length } = rest;
  if (from > 0) {
    const where = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
    response.writeHead(206, { 'content-length': length, 'content-range': where });
  } else response.writeHead(200, { 'content-length': length });
  const cut = index.cuts.get(name)?.shift();
  if (cut === undefined) {
    response.end(rest);
    return;
  }
  response.write(rest.subarray(0, cut), () => response.socket?.destroySoon());
}
