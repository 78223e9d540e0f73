// A logged request as the engine reports it.
import { Protocol, type LoggedRequest } from '../../../../../ts/base/generated/engine.js';

export function logged(of: Partial<LoggedRequest>): LoggedRequest {
  return {
    protocol: Protocol.V2Rest,
    protocolName: 'v2-rest',
    code: 0,
    model: 'm',
    version: '3',
    id: '',
    timeMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    totalUs: 12,
    jsonBytes: -1,
    responseJsonBytes: 0,
    request: new Uint8Array(),
    response: new Uint8Array(),
    tensorflow: new Uint8Array(),
    tensorflowFault: '',
    ...of,
  };
}
