// Reference server: uWebSockets.js that answers a POST with its body, at generate_stream as one
// server-sent event, and does nothing else. A separate process with one thread, which the caller
// pins. Prints one ready line; ends with stdin.
import { App, us_socket_local_port } from 'uWebSockets.js';

const HOST = '127.0.0.1';
const EVENT = Buffer.from('data: ');
const EVENT_END = Buffer.from('\n\n');

function ignoreAbort() {}

function echo(res) {
  const chunks = [];
  res.onAborted(ignoreAbort);
  res.onData((chunk, isLast) => {
    if (isLast && chunks.length === 0) {
      res.end(chunk);
      return;
    }
    chunks.push(Buffer.from(chunk.slice(0)));
    if (isLast) res.cork(() => res.end(Buffer.concat(chunks)));
  });
}

function echoEvent(res) {
  const chunks = [];
  res.onAborted(ignoreAbort);
  res.onData((chunk, isLast) => {
    chunks.push(Buffer.from(chunk.slice(0)));
    if (!isLast) return;
    res.cork(() => {
      res.writeHeader('Content-Type', 'text/event-stream');
      res.end(Buffer.concat([EVENT, ...chunks, EVENT_END]));
    });
  });
}

App()
  .post('/v2/models/:name/generate_stream', echoEvent)
  .post('/*', echo)
  .listen(HOST, 0, (socket) => {
    if (socket === false) {
      process.stderr.write(`cannot listen on ${HOST}\n`);
      process.exit(1);
    }
    const ready = { event: 'ready', host: HOST, port: us_socket_local_port(socket) };
    process.stdout.write(`${JSON.stringify(ready)}\n`);
  });
process.stdin.on('end', () => process.exit(0)).resume();
