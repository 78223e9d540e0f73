// Flags and settings that choose a server's listeners and whether other processes may share their
// ports. Control plane, start-up only.
import { setting, type SettingValues, type SettingsOf, BOOL } from './values/flag-row.js';
import type { SettingsReader } from './values/settings-reader.js';
import { configError } from './values/values.js';

export const LISTENER_FLAGS = [
  setting('listeners.http', 'allow-http', 'BOOL', BOOL, 'true', 'false: no HTTP port, only gRPC'),
  setting('listeners.grpc', 'allow-grpc', 'BOOL', BOOL, 'true', 'false: no gRPC port, only HTTP'),
  setting(
    'listeners.reuseHttpPort',
    'reuse-http-port',
    'BOOL',
    BOOL,
    'false',
    'share the HTTP port with other processes that have this flag (SO_REUSEPORT)',
  ),
  setting(
    'listeners.reuseGrpcPort',
    'reuse-grpc-port',
    'BOOL',
    BOOL,
    'false',
    'share the gRPC port with other processes that have this flag (SO_REUSEPORT)',
  ),
] as const;

export type ListenersConfig = SettingValues<SettingsOf<typeof LISTENER_FLAGS>>['listeners'];

/** Errors: InvalidArgument: no listener is enabled; a flag of a disabled listener. */
export function checkListeners(
  { http, grpc }: ListenersConfig,
  { written, given }: SettingsReader,
): void {
  if (!http && !grpc) {
    const { where } = written('allow-grpc');
    throw configError(where, 'expected true where --allow-http is false: nobody could ask');
  }
  const socket = given('grpc-socket-path');
  if (!grpc && socket !== undefined) {
    throw configError(socket.where, 'expected gRPC with it, got --allow-grpc=false');
  }
}
