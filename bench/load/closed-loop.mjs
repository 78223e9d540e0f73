// Closed loop over HTTP/1.1 on few connections, for large bodies and slow answers: by the project's
// own client, which reads into one large buffer, where wrk reads 8 KiB at a time and would be
// measured itself, and counts what was under way when the time was over, which wrk drops. Control
// plane.
import { nativeLoad, planOf } from './native-load.mjs';

/** {method, path, headers, body} -> the bytes of an HTTP/1.1 request. Pure. */
export function requestBytes(host, request) {
  const lines = [
    `${request.method} ${request.path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${request.body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), request.body]);
}

/** Prepares `request` on `server` ({host, port, pid}), `connections` at a time. Returns
 * measure(seconds) -> sample. */
export function closedLoopLoad(context, server, request, connections = 1) {
  const plan = planOf({ how: 'whole', connections, count: connections });
  return nativeLoad(context, server, request, { http2: false, plan });
}
