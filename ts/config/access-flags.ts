// The flags of access: rows of the table of settings. Control plane, start-up only. Data only.
import { flag, setting } from './values/flag-row.js';
import { modeValue } from './values/values.js';

const BOOL = { kind: 'bool' } as const;

export const ACCESS_FLAGS = [
  flag(
    'api-key-file',
    'FILE',
    { kind: 'path' },
    '',
    'API keys, one per line: NAME sha256:HEX GROUPS (see serval key); reloaded on changes',
  ),
  flag(
    'api-key-header',
    'NAME',
    { kind: 'text' },
    '',
    'additional header for a key, besides "Authorization: Bearer KEY"',
  ),
  flag(
    'open-groups',
    'LIST',
    { kind: 'text' },
    'health,metrics',
    'with API keys: groups of calls that need no key',
  ),
  setting(
    'remoteControl',
    'allow-remote-control',
    'BOOL',
    BOOL,
    'false',
    'without API keys: let other machines load and unload models and change settings',
  ),
  setting(
    'clientShm',
    'allow-client-shm',
    'BOOL',
    BOOL,
    'false',
    'let clients on this machine register shared memory for tensors',
  ),
  setting(
    'console',
    'console',
    'BOOL',
    BOOL,
    'true',
    'web page at / with models, requests and metrics; on --admin-address if set',
  ),
  flag(
    'admin-address',
    'ADDRESS',
    { kind: 'text' },
    '',
    'HOST:PORT or unix:PATH: serve control, logging, metrics and statistics only there',
  ),
  flag(
    'allowed-hosts',
    'LIST',
    { kind: 'text' },
    '',
    'without API keys on a loopback address: host names to accept (* = any)',
  ),
  setting(
    'socketMode',
    'socket-mode',
    'MODE',
    { kind: 'text' },
    '0700',
    'file mode of Unix sockets (--admin-address, --grpc-socket-path)',
    { read: modeValue },
  ),
  flag(
    'admin-use-ssl',
    'BOOL',
    BOOL,
    'true',
    'false: no TLS on --admin-address, regardless of --tls-cert and --ssl-config-file',
  ),
  flag(
    'cors-origins',
    'LIST',
    { kind: 'text' },
    '',
    'let pages from these origins (https://app.example,...; * = any) call over HTTP',
  ),
  flag(
    'rest-api-enable-cors-support',
    'BOOL',
    BOOL,
    'false',
    "TensorFlow Serving's flag for --cors-origins '*'",
  ),
  flag(
    'http-restricted-api',
    'RULE',
    { kind: 'text-list' },
    '',
    "Triton's API[,API...]:HEADER=VALUE: these APIs require the header; may be repeated",
  ),
  flag(
    'grpc-restricted-protocol',
    'RULE',
    { kind: 'text-list' },
    '',
    'the same for gRPC, with the header triton-grpc-protocol-HEADER',
  ),
] as const;
