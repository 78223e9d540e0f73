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
    'API keys: NAME sha256:HEX GROUPS a line (serval key NAME GROUPS makes one); read anew',
  ),
  flag(
    'api-key-header',
    'NAME',
    { kind: 'text' },
    '',
    'where a key may come too, beside "Authorization: Bearer KEY"',
  ),
  flag(
    'open-groups',
    'LIST',
    { kind: 'text' },
    'health,metrics',
    'with keys: groups of calls that need none',
  ),
  setting(
    'remoteControl',
    'allow-remote-control',
    'BOOL',
    BOOL,
    'false',
    'without keys: other machines may load, unload and change settings too',
  ),
  setting(
    'clientShm',
    'allow-client-shm',
    'BOOL',
    BOOL,
    'false',
    'clients of this machine may register shared memory, and tensors lie there',
  ),
  setting(
    'console',
    'console',
    'BOOL',
    BOOL,
    'true',
    'a page at / that shows models, sends requests and draws metrics; on --admin-address if set',
  ),
  flag(
    'admin-address',
    'ADDRESS',
    { kind: 'text' },
    '',
    'HOST:PORT or unix:PATH: control, logging, metrics and statistics only there',
  ),
  flag(
    'allowed-hosts',
    'LIST',
    { kind: 'text' },
    '',
    'without keys on a loopback address: names that clients may call it by (* = any)',
  ),
  setting(
    'socketMode',
    'socket-mode',
    'MODE',
    { kind: 'text' },
    '0700',
    'who may open unix sockets (--admin-address, --grpc-socket-path), as chmod has it',
    { read: modeValue },
  ),
  flag(
    'admin-use-ssl',
    'BOOL',
    BOOL,
    'true',
    'false: --admin-address in plain text whatever --tls-cert and --ssl-config-file say',
  ),
  flag(
    'cors-origins',
    'LIST',
    { kind: 'text' },
    '',
    'pages of these origins (https://app.example,...; * = any) may call over HTTP',
  ),
  flag(
    'rest-api-enable-cors-support',
    'BOOL',
    BOOL,
    'false',
    "TensorFlow Serving's: --cors-origins '*'",
  ),
  flag(
    'http-restricted-api',
    'RULE',
    { kind: 'text-list' },
    '',
    "Triton's API[,API...]:HEADER=VALUE: these need the header; may be repeated",
  ),
  flag(
    'grpc-restricted-protocol',
    'RULE',
    { kind: 'text-list' },
    '',
    'the same of gRPC, whose header is triton-grpc-protocol-HEADER',
  ),
] as const;
