// nginx (Debian's) in front of a server: it terminates TLS and forwards requests in plain text over
// persistent connections. Control plane of the benchmarks.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { start, stop } from '../children.mjs';
import { isOnPath } from '../machine.mjs';
import { Skipped } from '../runner.mjs';

const HOST = '127.0.0.1';
const SBIN = '/usr/sbin/nginx';
const READY_MS_MAX = 20_000;
const LOOK_MS = 10;

/** Returns the path of nginx. Skipped if there is none. */
export function nginxProgram() {
  if (isOnPath('nginx')) return 'nginx';
  if (existsSync(SBIN)) return SBIN;
  throw new Skipped('needs nginx: apt-get install nginx-light');
}

/**
 * Makes a self-signed certificate for 127.0.0.1 in a new folder: {certificate, key, ca}, paths and
 * the text that clients trust.
 */
export function makeCertificate(context) {
  const folder = join(context.tempDir, `tls-${context.nextId()}`);
  mkdirSync(folder);
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = ['-subj', '/CN=localhost', '-addext', `subjectAltName=IP:${HOST}`];
  const files = ['-days', '2', '-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', ...curve, ...names, ...files], { stdio: 'pipe' });
  return { certificate, key, ca: readFileSync(certificate) };
}

/** `kind`: http, or grpc over HTTP/2. Pure. */
export function nginxConfig({ kind, port, upstream, folder, certificate, key, isRoot }) {
  const isGrpc = kind === 'grpc';
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `${isRoot ? 'user root;\n' : ''}daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
${temps.map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_buffer_size 1m;
  upstream behind {
    server ${upstream.host}:${upstream.port};
    keepalive 256;
    keepalive_requests 1000000000;
  }
  server {
    listen ${HOST}:${port} ssl${isGrpc ? ' http2' : ''};
    http2_max_concurrent_streams 1024;
    ssl_certificate ${certificate};
    ssl_certificate_key ${key};
    location / {
${isGrpc ? '      grpc_pass grpc://behind;' : HTTP_PASS}
    }
  }
}
`;
}

const HTTP_PASS = `      proxy_pass http://behind;
      proxy_http_version 1.1;
      proxy_set_header Connection "";`;

/**
 * Starts nginx in front of `upstream` ({host, port}). Resolves to {host, port, ca, ended(),
 * stop()}.
 */
export async function startNginx(context, kind, upstream) {
  const program = nginxProgram();
  const { ca, ...tls } = makeCertificate(context);
  const folder = join(context.tempDir, `nginx-${context.nextId()}`);
  mkdirSync(folder);
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, nginxConfig({ kind, port, upstream, folder, ...tls, isRoot }));
  const { child, tail } = start(program, ['-p', folder, '-c', file], context.cores.server);
  const ended = () => {
    const how = child.exitCode ?? child.signalCode;
    return how === null ? '' : `nginx ended with ${how}: ${tail()}`;
  };
  await accepting(port, ended);
  return { host: HOST, port, ca, ended, stop: () => stop(child) };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => {
    server.listen(0, HOST, resolve);
  });
  const { port } = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

async function accepting(port, ended) {
  const limit = performance.now() + READY_MS_MAX;
  for (;;) {
    const isThere = await new Promise((resolve) => {
      const socket = connect(port, HOST, () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (isThere) return;
    if (ended() !== '') throw new Error(ended());
    if (performance.now() > limit) throw new Error(`nginx accepts no connections on port ${port}`);
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK_MS);
    });
  }
}
