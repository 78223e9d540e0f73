// The cost of the front door: keys over REST and gRPC against the same server without them, TLS
// against nginx that terminates it before a plain Serval on the same core. To find the cost with
// everything off, compare the other rows with those of an older checkout: bench/compare.mjs.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callOnce, sendOnce } from '../../check.mjs';
import { makeCertificate, startNginx } from '../../contenders/nginx.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { smallGrpcLoad, openHalfPlusThree } from '../grpc/small.mjs';
import { planV1, planV2 } from '../json-small.mjs';
import { openServalHttp, orStop } from '../sides.mjs';

const MODEL = 'half_plus_three';
const GROUP = 'front-door';
const PLAIN = 'plain Serval';
const NGINX = 'nginx (TLS) + plain Serval';
// The differences are a few percent.
const ROUNDS_TIMES = 2;
const CONNECTIONS = 16;
/** Keys in the file; the load uses the last one. */
const KEYS = 4;

const wrk = (context, server, request) => wrkLoad(context, server, request, CONNECTIONS);
const overHttp = (context, root, more = {}) =>
  openServalHttp(context, root, { model: MODEL, plan: planV2, load: wrk, ...more });

/**
 * A key file whose last key may infer, and the headers that its owner sends. Metadata stays open:
 * sides request it before anything is timed.
 */
function withKeys(context, root) {
  const file = join(context.tempDir, `keys-${context.nextId()}.txt`);
  const made = Array.from({ length: KEYS }, (_, index) => makeKey(root, `key${index}`));
  writeFileSync(file, made.map(({ line }) => `${line}\n`).join(''));
  return {
    args: ['--api-key-file', file, '--open-groups', 'health,metrics,metadata'],
    authorization: `Bearer ${made.at(-1).key}`,
  };
}

function makeKey(root, name) {
  const command = `"$0" "$1" key ${name} inference 2>&1`;
  const bin = join(root, 'bin', 'serval.mjs');
  const printed = execFileSync('sh', ['-c', command, process.execPath, bin], { encoding: 'utf8' });
  const key = /not stored: (\S+)/.exec(printed)?.[1];
  const line = printed.split('\n').find((one) => one.startsWith(`${name} `));
  if (key === undefined || line === undefined) throw new Error(`serval key printed ${printed}`);
  return { key, line };
}

function openRestKeys(context, root) {
  const { args, authorization } = withKeys(context, root);
  const plan = (described) => {
    const { request, check } = planV2(described);
    return { request: { ...request, headers: { ...request.headers, authorization } }, check };
  };
  return overHttp(context, root, { plan, args });
}

function openGrpcKeys(context, root) {
  const { args, authorization } = withKeys(context, root);
  return openHalfPlusThree(context, root, smallGrpcLoad, {
    args,
    seen: { metadata: { authorization } },
  });
}

const tlsArgs = ({ certificate, key }) => ['--tls-cert', certificate, '--tls-key', key];

/** Removes the processor time, because it belongs to two processes. */
const untimed = (measure) => async (seconds) => {
  const { cpuUs: _, ...sample } = await measure(seconds);
  return sample;
};

/**
 * Starts nginx before `side`, on the same core; `ask(address)` makes one checked request through
 * it.
 */
async function behindNginx(context, kind, side, upstream, { ask, load }) {
  const front = await orStop({ ended: side.ended, stop: side.close }, () =>
    startNginx(context, kind, upstream),
  );
  const address = { ...front, pid: side.server.pid };
  const close = async () => {
    await front.stop();
    await side.close();
  };
  return orStop({ ended: front.ended, stop: close }, async () => {
    await ask(address);
    const ended = () => front.ended() || side.ended();
    return { measure: untimed(load(context, address)), ended, close };
  });
}

async function openNginxHttp(context, plan) {
  const side = await overHttp(context, context.root, { plan });
  return behindNginx(context, 'http', side, side.server.http, {
    ask: (address) => sendOnce(address, side.request),
    load: (_, address) => wrk(context, address, side.request),
  });
}

async function openNginxGrpc(context) {
  const side = await openHalfPlusThree(context, context.root);
  return behindNginx(context, 'grpc', side, side.server.grpc, {
    ask: (address) => callOnce(address, side.call.path, side.call.message),
    load: (_, address) => smallGrpcLoad(context, address, side.call),
  });
}

const row = (id, title, more) => ({
  id,
  title,
  group: GROUP,
  metric: 'rate',
  target: null,
  ...more,
});

const tlsRow = (id, title, plan) =>
  row(id, title, {
    reference: NGINX,
    target: { relation: '>=', limit: 2.5 },
    openServal: (context, root) => {
      const { ca, ...files } = makeCertificate(context);
      return overHttp(context, root, { plan, args: tlsArgs(files), seen: { ca } });
    },
    openReference: (context) => openNginxHttp(context, plan),
  });

export const frontDoor = [
  row('keys-rest', 'V2 JSON, 4 floats, 16 connections, with keys', {
    reference: PLAIN,
    roundsTimes: ROUNDS_TIMES,
    openServal: openRestKeys,
    openReference: (context) => overHttp(context, context.root),
  }),
  row('keys-grpc', 'gRPC ModelInfer, 4 floats raw, 4x16, with keys', {
    reference: PLAIN,
    roundsTimes: ROUNDS_TIMES,
    openServal: openGrpcKeys,
    openReference: (context) => openHalfPlusThree(context, context.root),
  }),
  tlsRow('tls-http-v1', 'V1 JSON, 4 floats, 16 connections, TLS', planV1),
  tlsRow('tls-http', 'V2 JSON, 4 floats, 16 connections, TLS', planV2),
  row('tls-grpc', 'gRPC ModelInfer, 4 floats raw, 4x16, TLS', {
    reference: NGINX,
    openServal: (context, root) => {
      const { ca, ...files } = makeCertificate(context);
      return openHalfPlusThree(context, root, smallGrpcLoad, {
        args: tlsArgs(files),
        seen: { ca },
      });
    },
    openReference: openNginxGrpc,
  }),
];
