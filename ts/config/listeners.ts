// Which listeners a server has, and whether other processes may share their ports: flags and their
// settings. Control plane, start-up only.
import { flag, type FlagType } from './values/flag-row.js';
import type { SettingsReader } from './values/settings-reader.js';
import { configError } from './values/values.js';

const BOOL: FlagType = { kind: 'bool' };

export const LISTENER_FLAGS = [
  flag('allow-http', 'BOOL', BOOL, 'true', 'false: no HTTP port; gRPC alone'),
  flag('allow-grpc', 'BOOL', BOOL, 'true', 'false: no gRPC port; HTTP alone'),
  flag(
    'reuse-http-port',
    'BOOL',
    BOOL,
    'false',
    'share the HTTP port with other processes that have this flag (SO_REUSEPORT)',
  ),
  flag('reuse-grpc-port', 'BOOL', BOOL, 'false', 'the same of the gRPC port'),
];

export interface ListenersConfig {
  readonly http: boolean;
  readonly grpc: boolean;
  readonly reuseHttpPort: boolean;
  readonly reuseGrpcPort: boolean;
}

/** Errors: InvalidArgument: nothing would listen; a flag of a listener that is not there. */
export function listenersSettings({ bool, written, given }: SettingsReader): ListenersConfig {
  const [http, grpc] = [bool('allow-http'), bool('allow-grpc')];
  if (!http && !grpc) {
    const { where } = written('allow-grpc');
    throw configError(where, 'expected true where --allow-http is false: nobody could ask');
  }
  const socket = given('grpc-socket-path');
  if (!grpc && socket !== undefined) {
    throw configError(socket.where, 'expected gRPC with it, got --allow-grpc=false');
  }
  return {
    http,
    grpc,
    reuseHttpPort: bool('reuse-http-port'),
    reuseGrpcPort: bool('reuse-grpc-port'),
  };
}
