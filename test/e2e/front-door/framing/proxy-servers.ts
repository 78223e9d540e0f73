// Debian's nginx and HAProxy in their installed form, on free ports. Test time only.
import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.js';
import { DEADLINE_MS } from '../../support/serval-process.js';

/** A program's path; undefined if it is not installed. /usr/sbin is not in every user's PATH. */
export function programFile(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** The reason for `skip`, or false if `name` is installed. */
export function missingProgram(name: string, debianPackage: string): string | false {
  return programFile(name) === undefined && `no ${name}: apt-get install ${debianPackage}`;
}

export interface Running {
  readonly port: number;
  /** Everything that it printed. */
  readonly output: () => string;
  readonly stop: () => Promise<void>;
}

/** Debian's nginx with one `server` or more, its files below `folder`. */
export function nginxText(folder: string, servers: string): string {
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `${process.getuid?.() === 0 ? 'user root;\n' : ''}daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 512; }
http {
  log_format forwarded '$request_method $request_uri $status upstream=$upstream_status';
  access_log ${folder}/access.log forwarded;
${temps.map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
  client_max_body_size 0;
  proxy_ignore_client_abort on;
  ${servers}
}
`;
}

/** Debian's HAProxy in front of `upstream`; `check`: lines of its backend. */
export function haproxyText(port: number, upstream: number, check: string): string {
  return `global
  log stdout format raw local0
defaults
  mode http
  log global
  option log-health-checks
  retries 0
  timeout connect 5s
  timeout client 2s
  timeout server 20s
  timeout http-request 2s
frontend clients
  bind 127.0.0.1:${port}
  log-format "seen %HM %HU %ST %s %ts"
  default_backend servers
backend servers
  http-reuse always
  ${check}
  server serval 127.0.0.1:${upstream} check inter 300ms
`;
}

async function started(
  program: string,
  args: readonly string[],
  port: number,
  signal: NodeJS.Signals,
): Promise<Running> {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<void>((resolve) => {
    child.on('close', () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  const limit = performance.now() + DEADLINE_MS;
  for (;;) {
    if (await accepts(port)) return { port, output: () => output, stop };
    if (child.exitCode !== null || performance.now() > limit) {
      await stop();
      throw new Error(`${program} does not listen on ${port}: ${output}`);
    }
    await sleep(10);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** `text`: makes its configuration from the port to listen on. */
export async function startNginx(folder: string, text: (port: number) => string): Promise<Running> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text(port));
  return started(programFile('nginx') ?? '', ['-p', folder, '-c', file], port, 'SIGTERM');
}

/** The same for HAProxy; it logs to its output. */
export async function startHaproxy(
  folder: string,
  text: (port: number) => string,
): Promise<Running> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, text(port));
  return started(programFile('haproxy') ?? '', ['-db', '-f', file], port, 'SIGTERM');
}
