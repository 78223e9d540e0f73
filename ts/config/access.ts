// The settings of access: who may call what. Control plane, start-up only.
import { resolve } from 'node:path';
import { UNIX_PREFIX } from '../listeners/unix-socket.js';
import type { CorsSettings } from '../listeners/http/access/cors.js';
import type { CallGroup } from '../access/groups.js';
import { readGroups } from '../access/keys.js';
import type { HeaderRule, Policy } from '../access/policy.js';
import { GRPC_HEADER_PREFIX, readRestrictions } from '../access/restrictions.js';
import { echo } from '../base/text.js';
import { ACCESS_FLAGS } from './access-flags.js';
import { settingValues, type SettingsOf, type SettingValues } from './values/flag-row.js';
import type { SettingsReader } from './values/settings-reader.js';
import { configError, lastText, textValue, type Written } from './values/values.js';

/** Stands for any origin. */
const ANY = '*';

export interface AccessConfig extends SettingValues<SettingsOf<typeof ACCESS_FLAGS>> {
  /** Absolute path. */
  readonly keyFile: string | undefined;
  readonly keyHeader: string;
  readonly openGroups: readonly CallGroup[];
  readonly httpRules: readonly HeaderRule[];
  readonly grpcRules: readonly HeaderRule[];
  /** CORS for pages of other origins; undefined: they are refused. */
  readonly cors: CorsSettings | undefined;
  /** The admin address; `host` may be unix:PATH (absolute), with port 0. */
  readonly admin: AdminAddress | undefined;
  /** The admin address uses TLS if TLS is configured at all. */
  readonly adminTls: boolean;
  /** Host names that clients may use for a listener bound to this machine only; `*` = any. */
  readonly allowedHosts: readonly string[];
}

export interface AdminAddress {
  readonly host: string;
  readonly port: number;
}

/** Header names that are valid gRPC metadata too, where names that end in -bin carry bytes. */
const HEADER_NAME = /^(?!.*-bin$)[0-9A-Za-z_.-]{1,128}$/i;

/** Errors: InvalidArgument naming the flag. */
export function accessSettings(read: SettingsReader): AccessConfig {
  const { given, written, filePath } = read;
  const keyFile = filePath('api-key-file');
  const [header, open] = [given('api-key-header'), given('open-groups')];
  for (const one of [header, open]) {
    if (one !== undefined && keyFile === undefined) {
      throw configError(one.where, 'expected --api-key-file with it');
    }
  }
  if (header !== undefined && !HEADER_NAME.test(textValue(header))) {
    throw configError(header.where, `expected the name of a header, got ${echo(lastText(header))}`);
  }
  const rules = (flag: string, prefix: string): readonly HeaderRule[] => {
    const from = given(flag);
    const problem = (message: string): Error => configError(`--${flag}`, message);
    return from === undefined ? [] : readRestrictions(from.texts, prefix, problem);
  };
  const openFrom = written('open-groups');
  const httpRules = rules('http-restricted-api', '');
  const grpcRules = rules('grpc-restricted-protocol', GRPC_HEADER_PREFIX);
  if (keyFile !== undefined && httpRules.length + grpcRules.length > 0) {
    const flag = httpRules.length > 0 ? 'http-restricted-api' : 'grpc-restricted-protocol';
    const why = 'each would open what the other locks; give keys their groups instead';
    throw configError(`--${flag}`, `expected no --api-key-file with it, got both: ${why}`);
  }
  const keyHeaders = [header && textValue(header), ...httpRules.map((rule) => rule.header)];
  return {
    keyFile,
    keyHeader: header === undefined ? '' : textValue(header).toLowerCase(),
    openGroups: readGroups(lastText(openFrom), openFrom.where),
    httpRules,
    grpcRules,
    ...settingValues(ACCESS_FLAGS, read),
    cors: corsSettings(read, [...new Set(keyHeaders.filter((name) => name !== undefined))]),
    allowedHosts: hostNames(given('allowed-hosts')),
    ...adminSettings(read),
  };
}

/** The admin address; over TCP it uses TLS where HTTP could. Errors: InvalidArgument. */
function adminSettings({ bool, given }: SettingsReader): Pick<AccessConfig, 'admin' | 'adminTls'> {
  const admin = adminAddress(given('admin-address'));
  const from = given('admin-use-ssl');
  const isUnix = admin?.host.startsWith(UNIX_PREFIX) === true;
  const adminTls = bool('admin-use-ssl') && !isUnix;
  if (from === undefined) return { admin, adminTls };
  const hasTls = ['tls-cert', 'ssl-config-file'].some((name) => given(name) !== undefined);
  if (admin === undefined) throw configError(from.where, 'expected --admin-address with it');
  if (bool('admin-use-ssl') && isUnix) {
    throw configError(from.where, 'expected --admin-address HOST:PORT with it, got a unix socket');
  }
  if (adminTls && !hasTls) throw configError(from.where, 'expected --tls-cert FILE with it');
  return { admin, adminTls };
}

/** Errors: InvalidArgument naming the flag. */
function corsSettings(
  { given, boolOf }: SettingsReader,
  keyHeaders: readonly string[],
): CorsSettings | undefined {
  const [list, support] = [given('cors-origins'), given('rest-api-enable-cors-support')];
  const onEvery = support !== undefined && boolOf(support);
  if (list === undefined) return onEvery ? { origins: undefined, onEvery, keyHeaders } : undefined;
  const texts = textValue(list).split(',');
  const origins = texts.map((text) => originOf(text.trim(), list.where));
  const all = texts.length === 1 && origins[0] === ANY;
  if (!all && (onEvery || origins.includes(ANY))) {
    const other = onEvery ? '--rest_api_enable_cors_support' : "'*'";
    const expected = `'*' alone, or origins without ${other}`;
    throw configError(list.where, `expected ${expected}, got ${echo(textValue(list))}`);
  }
  return { origins: all ? undefined : origins, onEvery, keyHeaders };
}

/** Normalizes an origin as browsers write it. Errors: InvalidArgument. */
function originOf(text: string, where: string): string {
  if (text === ANY) return text;
  const [origin = ''] = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,*]+$/i.exec(text) ?? [];
  if (origin === '' || !URL.canParse(origin)) {
    throw configError(where, `expected SCHEME://HOST[:PORT] or '*', got ${echo(text)}`);
  }
  // The URL class has no origin for schemes that it does not know.
  const known = new URL(origin).origin;
  return known === 'null' ? origin.toLowerCase() : known;
}

/** Errors: InvalidArgument naming the flag. */
function hostNames(from: Written | undefined): readonly string[] {
  if (from === undefined) return [];
  return textValue(from)
    .split(',')
    .map((text) => {
      const name = text.trim().toLowerCase();
      if (name === ANY || /^[a-z0-9_]([a-z0-9_.-]{0,253})$/.test(name)) return name;
      throw configError(from.where, `expected names of hosts, or *, got ${echo(text)}`);
    });
}

/** Parses HOST:PORT, [IPV6]:PORT or unix:PATH. Errors: InvalidArgument. */
function adminAddress(from: Written | undefined): AdminAddress | undefined {
  if (from === undefined) return undefined;
  const text = textValue(from);
  const path = text.startsWith(UNIX_PREFIX) ? text.slice(UNIX_PREFIX.length) : '';
  if (path !== '') return { host: UNIX_PREFIX + resolve(from.folder, path), port: 0 };
  const [, v6, name, digits = ''] = /^(?:\[([^\]]+)\]|([^:/[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const host = v6 ?? name;
  if (host !== undefined && port <= 65_535) return { host, port };
  throw configError(from.where, `expected HOST:PORT or unix:PATH, got ${echo(text)}`);
}

/** `keys`: those of the key file, if there is one. */
export function policyOf(config: AccessConfig, keys: Policy['keys']): Policy {
  const { keyHeader, openGroups, httpRules, grpcRules, remoteControl, admin } = config;
  const hasAdmin = admin !== undefined;
  return { keys, keyHeader, openGroups, httpRules, grpcRules, remoteControl, hasAdmin };
}
