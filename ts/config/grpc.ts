// The settings of gRPC's listener: flags, TensorFlow Serving's channel arguments, TLS. Control
// plane, start-up only.
import { INT32_MAX } from '../base/limits.js';
import type { GrpcTransportSettings } from '../listeners/grpc/settings.js';
import type { ListenerThreads, ThreadRange } from '../listeners/threads.js';
import type { ServerTls } from '../listeners/tls/settings.js';
import { echo } from '../base/text.js';
import { GRPC_COMPRESSIONS, GRPC_FLAGS } from './grpc-flags.js';
import { settingValues } from './values/flag-row.js';
import type { SettingsReader } from './values/settings-reader.js';
import { tlsSettings, type TlsConfig } from './tls.js';
import { choiceValue, configError, modeValue, textValue, type Written } from './values/values.js';

export interface GrpcConfig {
  readonly transport: Omit<GrpcTransportSettings, keyof ThreadRange>;
  readonly threads: ListenerThreads;
  /** TensorFlow Serving's TLS file; read when the server starts. */
  readonly sslConfigFile: string | undefined;
  /** Channel arguments that have no effect here: "--flag argument: why". */
  readonly ignored: readonly string[];
}

/** The zlib level of each of Triton's compression levels. */
const COMPRESSION_LEVELS: Readonly<Record<(typeof GRPC_COMPRESSIONS)[number], number>> = {
  none: 0,
  low: 1,
  medium: 6,
  high: 9,
};

/** Channel argument to the equivalent flag. Source: grpc/impl/channel_arg_names.h. */
const ARGUMENT_FLAGS: Readonly<Record<string, string>> = {
  'grpc.max_concurrent_streams': 'grpc-max-concurrent-streams',
  'grpc.max_receive_message_length': 'grpc-message-bytes-max',
  'grpc.max_send_message_length': 'grpc-message-bytes-max',
  'grpc.keepalive_time_ms': 'grpc-keepalive-time',
  'grpc.keepalive_timeout_ms': 'grpc-keepalive-timeout',
  'grpc.keepalive_permit_without_calls': 'grpc-keepalive-permit-without-calls',
  'grpc.http2.max_pings_without_data': 'grpc-http2-max-pings-without-data',
  'grpc.http2.min_ping_interval_without_data_ms': 'grpc-http2-min-recv-ping-interval-without-data',
  'grpc.http2.min_recv_ping_interval_without_data_ms':
    'grpc-http2-min-recv-ping-interval-without-data',
  'grpc.http2.max_ping_strikes': 'grpc-http2-max-ping-strikes',
  'grpc.max_connection_age_ms': 'grpc-max-connection-age',
  'grpc.max_connection_age_grace_ms': 'grpc-max-connection-age-grace',
  'grpc.max_connection_idle_ms': 'grpc-max-connection-idle',
};
const RECEIVE_ARGUMENT = 'grpc.max_receive_message_length';
const SEND_ARGUMENT = 'grpc.max_send_message_length';
/** gRPC's value for unlimited length. */
const ANY_LENGTH = '-1';

/** Reads TLS of all transports and gRPC's own settings. Errors: InvalidArgument naming the flag. */
export function transportSettings(read: SettingsReader): {
  readonly tls: TlsConfig;
  readonly grpc: GrpcConfig;
} {
  const tls = tlsSettings(read);
  return { tls, grpc: grpcSettings(read, tls) };
}

function grpcSettings(read: SettingsReader, tlsConfig: TlsConfig): GrpcConfig {
  const channel = channelArguments(read.given('grpc-channel-arguments'));
  const { connection, threads } = settingValues(GRPC_FLAGS, overArguments(read, channel));
  const compression = choiceValue(
    GRPC_COMPRESSIONS,
    read.written('grpc-infer-response-compression-level'),
  );
  const own = flagTls(read);
  const sslConfigFile = read.filePath('ssl-config-file');
  if (sslConfigFile !== undefined && own !== undefined) {
    throw configError(
      read.written('ssl-config-file').where,
      'expected either this or --grpc-use-ssl and its files, got both',
    );
  }
  const { shared, version } = tlsConfig;
  // gRPC's own TLS flags override the shared ones
  const isPlain = read.given('grpc-use-ssl') !== undefined;
  const tls = own === undefined ? (isPlain ? undefined : shared) : { ...own, ...version };
  return {
    transport: {
      ...connection,
      receiveBytesMax: messageBytes(read, channel, RECEIVE_ARGUMENT),
      sendBytesMax: messageBytes(read, channel, SEND_ARGUMENT),
      unixPath: read.filePath('grpc-socket-path') ?? '',
      unixMode: modeValue(read.written('socket-mode')),
      reusePort: read.bool('reuse-grpc-port'),
      compressionLevel: COMPRESSION_LEVELS[compression],
      ...(tls && { tls }),
    },
    threads,
    sslConfigFile,
    ignored: [...channel.keys()]
      .filter((name) => ARGUMENT_FLAGS[name] === undefined)
      .map((name) => `--grpc-channel-arguments ${name}: there is no such setting here`),
  };
}

type Channel = ReadonlyMap<string, Written>;

/** Parses `k=v,k=v`; the last value of a repeated argument counts. */
function channelArguments(from: Written | undefined): Channel {
  const found = new Map<string, Written>();
  if (from === undefined) return found;
  for (const pair of textValue(from).split(',')) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw configError(from.where, `expected name=value, got ${echo(pair)}`);
    const name = pair.slice(0, equals).trim();
    const where = `${from.where}: ${name}`;
    found.set(name, { where, texts: [pair.slice(equals + 1).trim()], folder: from.folder });
  }
  return found;
}

/** Falls back to the equivalent channel arguments for flags that were not given. */
function overArguments(read: SettingsReader, channel: Channel): SettingsReader {
  const written = (name: string): Written => {
    const given = read.given(name);
    if (given !== undefined) return given;
    const argument = [...channel].find(([key]) => ARGUMENT_FLAGS[key] === name);
    return argument?.[1] ?? read.written(name);
  };
  return {
    ...read,
    written,
    int: (name) => read.intOf(name, written(name)),
    bool: (name) => read.boolOf(written(name)),
  };
}

function messageBytes(read: SettingsReader, channel: Channel, argument: string): number {
  const name = 'grpc-message-bytes-max';
  const from = read.given(name) === undefined ? channel.get(argument) : undefined;
  if (from === undefined) return read.int(name);
  return from.texts[0] === ANY_LENGTH ? INT32_MAX : read.intOf(name, from);
}

/**
 * Triton's TLS flags. TLS files that nothing uses are an error, since the operator who names them
 * expects TLS; with --grpc-use-ssl=false they are ignored, as in Triton.
 */
function flagTls({ bool, given, filePath }: SettingsReader): ServerTls | undefined {
  const mutual = bool('grpc-use-ssl-mutual');
  if (!mutual && !bool('grpc-use-ssl')) {
    const files = ['grpc-server-cert', 'grpc-server-key', 'grpc-root-cert'].map(given);
    const file = files.find((one) => one !== undefined);
    if (file === undefined || given('grpc-use-ssl') !== undefined) return undefined;
    throw configError(file.where, 'expected --grpc-use-ssl or --grpc-use-ssl-mutual with it');
  }
  const flag = mutual ? 'grpc-use-ssl-mutual' : 'grpc-use-ssl';
  const wanted = (name: string): { readonly path: string } => {
    const path = filePath(name);
    if (path !== undefined) return { path };
    const where = given(flag)?.where ?? `--${flag}`;
    throw configError(where, `expected --${name} FILE with it, got none`);
  };
  const [certificate, key] = [wanted('grpc-server-cert'), wanted('grpc-server-key')];
  if (mutual) return { certificate, key, roots: wanted('grpc-root-cert'), clientRequired: true };
  const roots = filePath('grpc-root-cert');
  return {
    certificate,
    key,
    ...(roots !== undefined && { roots: { path: roots } }),
    clientRequired: false,
  };
}
