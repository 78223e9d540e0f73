// A socket to the server that is measured, plain or TLS, that brings what comes in one piece of
// memory, used again. The load's threads.
import { connect as connectPlain, type Socket } from 'node:net';
import { lateTls } from '../../late-modules.js';
import type { LoadTarget } from './sender.js';

export type Address = Extract<LoadTarget, { readonly kind: 'http' | 'grpc' }>;

export interface SocketEvents {
  readonly connected: () => void;
  /** `bytes` are valid until it returns. */
  readonly data: (bytes: Buffer) => void;
  /** Once, whatever the reason. */
  readonly closed: (why: string) => void;
}

const READ_BYTES = 65_536;

export function openSocket({ host, port, kind, tlsCa }: Address, events: SocketEvents): Socket {
  let why = 'the server closed the connection';
  let socket: Socket;
  if (tlsCa === undefined) {
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (count: number, buffer: Uint8Array): boolean => {
        events.data((buffer as Buffer).subarray(0, count));
        return true;
      },
    };
    socket = connectPlain({ host, port, onread });
    socket.on('connect', events.connected);
  } else {
    const tls = lateTls().connect({
      host,
      port,
      servername: /^[\d.:]+$/.test(host) ? '' : host,
      ALPNProtocols: [kind === 'grpc' ? 'h2' : 'http/1.1'],
      ...(tlsCa !== '' && { ca: tlsCa }),
    });
    tls.on('secureConnect', events.connected);
    tls.on('data', events.data);
    socket = tls;
  }
  socket.setNoDelay(true);
  socket.on('error', (error) => {
    why = error.message;
  });
  // With onread nothing reads the end of the stream.
  socket.on('end', () => socket.destroy());
  socket.on('close', () => events.closed(why));
  return socket;
}
