// Everything at the front door of the soak's server: keys that are added and removed, TLS with a
// renewed certificate, traces with changing settings, a request log that starts new files, shared
// memory. The operator's actions, and the final checks. Test time only.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pause } from './options.mjs';
import { STEADY } from './repository.mjs';

const KEY = 'a-key-for-everything';
const EFFECT_MS = 60_000;
const TRY_MS = 100;
const LOG_MB_MAX = 1;
const LOG_FILES_MAX = 3;
/** A request is written as a whole: a file may exceed the limit by one. */
const LOG_FILE_BYTES_MAX = (LOG_MB_MAX + 1) * 1e6;
const PAIRS = ['first', 'second'];
const INFER = '/v2/models/half_plus_three/infer';
const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}';
const UNSERVED_PORT = 9;

const digestOf = (key) => createHash('sha256').update(key).digest('hex');

export class FrontDoor {
  /** The number of renewals of the certificate. */
  renewals = 0;

  constructor(folder, tls) {
    this.folder = join(folder, 'door');
    this.tls = tls;
    this.keyFile = join(this.folder, 'keys');
    this.traceFile = join(this.folder, 'trace.json');
    this.logs = join(this.folder, 'requests');
    mkdirSync(this.logs, { recursive: true });
    this.setKeys('nobody has this one yet');
    if (tls) this.makeCertificates();
  }

  /** tls: with Triton's trace file; plain: with traces for a collector that does not exist. */
  static make(folder, kind) {
    return new FrontDoor(folder, kind === 'tls');
  }

  get args() {
    const traces = this.tls
      ? ['--trace-file', this.traceFile, '--trace-level', 'TIMESTAMPS']
      : ['--trace-otlp', `http://127.0.0.1:${UNSERVED_PORT}`];
    const tls = ['--tls-cert', this.path('served.pem'), '--tls-key', this.path('served.key')];
    return [
      ...['--api-key-file', this.keyFile, '--allow-client-shm=true', ...traces],
      ...['--trace-rate', '50', '--request-log-dir', this.logs, '--request-log-sampling', '0.5'],
      ...['--request-log-max-mb', String(LOG_MB_MAX)],
      ...['--request-log-files', String(LOG_FILES_MAX)],
      ...(this.tls ? tls : []),
    ];
  }

  /** The credentials of clients: {key, ca}. */
  get entry() {
    return { key: KEY, ...(this.tls && { ca: this.path('authority.pem') }) };
  }

  path(name) {
    return join(this.folder, name);
  }

  setKeys(fleeting) {
    const line = (name, key, groups) => `${name} sha256:${digestOf(key)} ${groups}\n`;
    const text = line('soak', KEY, 'all') + line('fleeting', fleeting, 'inference');
    writeFileSync(`${this.keyFile}.new`, text, { mode: 0o600 });
    renameSync(`${this.keyFile}.new`, this.keyFile);
  }

  makeCertificates() {
    const openssl = (...args) =>
      execFileSync('openssl', args, { cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] });
    const fresh = (name) => [
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-keyout', `${name}.key`, '-subj', `/CN=${name}`],
    ];
    writeFileSync(this.path('names.ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1');
    openssl('req', '-x509', '-days', '2', ...fresh('authority'), '-out', 'authority.pem');
    for (const name of PAIRS) {
      openssl('req', '-new', ...fresh(name), '-out', `${name}.csr`);
      openssl(
        ...['x509', '-req', '-in', `${name}.csr`, '-days', '2', '-extfile', 'names.ext'],
        ...['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial'],
        ...['-out', `${name}.pem`],
      );
    }
    this.serve(PAIRS[0]);
  }

  serve(name) {
    for (const kind of ['key', 'pem']) {
      writeFileSync(this.path(`served.${kind}.new`), readFileSync(this.path(`${name}.${kind}`)));
      renameSync(this.path(`served.${kind}.new`), this.path(`served.${kind}`));
    }
  }

  /**
   * The certificate that a new connection is shown; '' = it was reset, which may happen at the
   * moment of the change.
   */
  served(port) {
    return new Promise((resolve, reject) => {
      const ca = readFileSync(this.path('authority.pem'));
      const socket = connect({ host: '127.0.0.1', port, ca }, () => {
        resolve(socket.getPeerCertificate().subject.CN);
        socket.destroy();
      });
      socket.on('error', (error) => (error.code === 'ECONNRESET' ? resolve('') : reject(error)));
    });
  }

  /** Throws if a log or a trace file is invalid. Returns their counts. */
  check() {
    const found = { logFiles: 0, logLines: 0, traces: 0 };
    for (const entry of readdirSync(this.logs, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const { size } = statSync(path);
      if (size > LOG_FILE_BYTES_MAX) throw new Error(`${path}: ${size} bytes of a request log`);
      const lines = readFileSync(path, 'utf8').split('\n');
      if (lines.pop() !== '') throw new Error(`${path}: its last line is cut`);
      for (const line of lines) JSON.parse(line);
      found.logFiles += 1;
      found.logLines += lines.length;
    }
    if (found.logLines === 0) throw new Error(`${this.logs}: no request was logged`);
    if (this.tls) {
      const entries = JSON.parse(readFileSync(this.traceFile, 'utf8'));
      found.traces = entries.filter(({ model_name: name }) => name !== undefined).length;
      if (found.traces === 0) throw new Error(`${this.traceFile}: no trace`);
    }
    return found;
  }
}

async function until(what, holds) {
  const limit = performance.now() + EFFECT_MS;
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error(`${what}: not after ${EFFECT_MS} ms`);
    await pause(TRY_MS);
  }
}

async function renewKey(connections, door, server, keys) {
  const status = async (key) =>
    (await connections.send(INFER, BODY, { Authorization: `Bearer ${key}` })).status;
  keys.next += 1;
  const [old, key] = [keys.now, `fleeting-${keys.next}`];
  door.setKeys(key);
  server.child.kill('SIGHUP');
  await until(`${key} opens`, async () => (await status(key)) === 200);
  keys.served += 1;
  await until(`${old} opens nothing`, async () => {
    const got = await status(old);
    if (got === 200) keys.served += 1;
    return got === 401;
  });
  for (let i = 0; i < 20; i += 1) {
    if ((await status(old)) !== 401) throw new Error(`${old} was taken away, and opens again`);
    if ((await status(key)) !== 200) throw new Error(`${key} does not open any more`);
    keys.served += 1;
  }
  keys.now = key;
}

async function renewCertificate(door, server, random) {
  const name = random.pick(PAIRS);
  door.serve(name);
  door.renewals += 1;
  server.child.kill('SIGHUP');
  for (const port of Object.values(server.ports)) {
    await until(`${name} is served on ${port}`, async () => (await door.served(port)) === name);
  }
}

async function changeTraces(connections, random) {
  const path = random.pick([
    '/v2/trace/setting',
    `/v2/models/${random.pick(STEADY)}/trace/setting`,
  ]);
  const setting = random.pick([
    { trace_level: ['TIMESTAMPS'], trace_rate: String(random.int(1, 100)) },
    { trace_level: ['OFF'] },
    { trace_level: null, trace_rate: null, trace_count: null },
  ]);
  await connections.json(path, JSON.stringify(setting));
  await connections.json(path);
}

/** Changes keys, certificates and settings until `stopping()`. Resolves to {served, changes}. */
export async function runDoor({ connections, random, stopping, door, server }) {
  const keys = { now: 'none-yet', next: random.int(0, 1e9), served: 0 };
  let changes = 0;
  while (!stopping()) {
    const step = random.int(0, 2);
    if (step === 0) await renewKey(connections, door, server, keys);
    else if (step === 1 && door.tls) await renewCertificate(door, server, random);
    else await changeTraces(connections, random);
    changes += 1;
    await pause(random.int(0, 1000));
  }
  await connections.json('/v2/trace/setting', '{"trace_level":null,"trace_rate":null}');
  return { served: { half_plus_three: keys.served }, changes };
}
