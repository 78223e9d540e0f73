// A closed loop over HTTP/1.1 on few connections, for large bodies and slow responses. It uses the
// project's own client, which reads into one large buffer and counts the requests in flight at the
// end. wrk drops those, and reads 8 KiB at a time, so that it would be the bottleneck. Control
// plane.
import { nativeLoad, scheduleOf } from './native-load.mjs';

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

/**
 * Prepares `request` on `server` ({host, port, pid}), with `connections` requests at a time.
 * Returns measure(seconds) -> sample.
 */
export function closedLoopLoad(context, server, request, connections = 1) {
  const schedule = scheduleOf({ how: 'whole', connections, count: connections });
  return nativeLoad(context, server, request, { http2: false, schedule });
}
