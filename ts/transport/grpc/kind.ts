// Which of the two gRPC listeners a server has. Control plane, main thread, at start.
import { ErrorCode, ServalError } from '../../errors.js';
import { sharesPorts } from '../http-kind.js';
import { GRPC_CONNECTION_DEFAULTS as DEFAULTS, type GrpcTransportSettings } from './settings.js';

export const GRPC_LISTENERS = ['auto', 'native', 'node'] as const;
/** What is asked for; auto: the native one where the addon was built with it. */
export type GrpcListenerChoice = (typeof GRPC_LISTENERS)[number];
export type GrpcListenerKind = Exclude<GrpcListenerChoice, 'auto'>;

/** `built`: whether the addon has the native one. Errors: InvalidArgument where it is asked for and
 * is not there. */
export function chooseGrpcListener(choice: GrpcListenerChoice, built: boolean): GrpcListenerKind {
  if (choice === 'native' && !built) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      '--grpc-listener: expected node: the native addon was built without libnghttp2-dev, node-llhttp and ' +
        'libssl-dev, and has no gRPC listener',
    );
  }
  return choice === 'auto' ? (built ? 'native' : 'node') : choice;
}

/** Refuses what grpc-js cannot do, since nobody would notice that it does not happen.
 * Errors: InvalidArgument naming the flag. */
export function checkNodeListener(settings: GrpcTransportSettings, shares = sharesPorts()): void {
  const refusals: readonly [string, boolean, string][] = [
    ['--grpc-threads', settings.threads !== 1, 'it serves on one thread'],
    [
      '--reuse-grpc-port',
      settings.reusePort === true && !shares,
      `it shares ports from Node 22.12 on, and this is ${process.version}`,
    ],
    [
      '--grpc-http2-max-pings-without-data',
      settings.pingsWithoutDataMax !== DEFAULTS.pingsWithoutDataMax,
      'it counts no pings',
    ],
    [
      '--grpc-http2-min-recv-ping-interval-without-data',
      settings.pingIntervalWithoutDataMsMin !== DEFAULTS.pingIntervalWithoutDataMsMin,
      'it looks at no pings of clients',
    ],
    [
      '--grpc-http2-max-ping-strikes',
      settings.pingStrikesMax !== DEFAULTS.pingStrikesMax,
      'it looks at no pings of clients',
    ],
    [
      '--grpc-infer-response-compression-level',
      settings.compressionLevel !== 0,
      'it packs no answers',
    ],
  ];
  const refusal = refusals.find(([, given]) => given);
  if (refusal === undefined) return;
  const [flag, , why] = refusal;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `${flag}: expected the native gRPC listener (--grpc-listener native), got grpc-js: ${why}`,
  );
}
