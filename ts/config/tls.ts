// TLS of HTTP and gRPC together: flags and their settings. Control plane, start-up only.
import type { ServerTls } from '../listeners/tls/settings.js';
import { flag, type FlagType } from './values/flag-row.js';
import type { SettingsReader } from './values/settings-reader.js';
import { choiceValue, configError } from './values/values.js';

const path: FlagType = { kind: 'path' };
const VERSIONS = ['1.2', '1.3'] as const;
/** Flags that have no effect without TLS. */
const OTHER_TLS = ['ssl-config-file', 'grpc-use-ssl', 'grpc-use-ssl-mutual'];

export const TLS_FLAGS = [
  flag('tls-cert', 'FILE', path, '', 'TLS on HTTP and gRPC: certificate (PEM) with its chain'),
  flag(
    'tls-key',
    'FILE',
    path,
    '',
    'key of --tls-cert (PEM); both files are reloaded when they change',
  ),
  flag(
    'tls-client-ca',
    'FILE',
    path,
    '',
    'require client certificates that this CA (PEM) signed; not with uws',
  ),
  flag(
    'tls-min-version',
    'VERSION',
    { kind: 'choice', choices: VERSIONS },
    '1.2',
    'minimum TLS version of HTTP and gRPC: 1.2 or 1.3 (uws: 1.2)',
  ),
  flag(
    'http-use-ssl',
    'BOOL',
    { kind: 'bool' },
    'true',
    'false: no TLS on HTTP, regardless of --tls-cert and --ssl-config-file',
  ),
];

export interface TlsConfig {
  /** TLS from the flags; the file that --ssl-config-file names replaces it. */
  readonly shared: ServerTls | undefined;
  /** HTTP uses TLS too. */
  readonly http: boolean;
  /** Version for every TLS listener; empty: the default. */
  readonly version: Pick<ServerTls, 'minVersion'>;
}

/** Errors: InvalidArgument naming the flag. */
export function tlsSettings({ bool, written, given, filePath }: SettingsReader): TlsConfig {
  const http = bool('http-use-ssl');
  const isNew = choiceValue(VERSIONS, written('tls-min-version')) === '1.3';
  const version: TlsConfig['version'] = isNew ? { minVersion: 'TLSv1.3' } : {};
  const [certificate, key, roots] = [
    filePath('tls-cert'),
    filePath('tls-key'),
    filePath('tls-client-ca'),
  ];
  const file = given('ssl-config-file');
  if (certificate !== undefined && key !== undefined) {
    if (file !== undefined) {
      throw configError(file.where, 'expected either this or --tls-cert, got both');
    }
    const shared: ServerTls = {
      certificate: { path: certificate },
      key: { path: key },
      ...(roots !== undefined && { roots: { path: roots } }),
      clientRequired: roots !== undefined,
      ...version,
    };
    return { shared, http, version };
  }
  for (const [name, wanted] of [
    ['tls-cert', 'tls-key'],
    ['tls-key', 'tls-cert'],
    ['tls-client-ca', 'tls-cert'],
  ] as const) {
    const from = given(name);
    if (from !== undefined) throw configError(from.where, `expected --${wanted} FILE with it`);
  }
  const least = given('tls-min-version');
  if (least !== undefined && OTHER_TLS.every((name) => given(name) === undefined)) {
    throw configError(least.where, 'expected --tls-cert or another flag of TLS with it');
  }
  return { shared: undefined, http, version };
}
