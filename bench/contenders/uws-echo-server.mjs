// Reference server: uWebSockets.js that answers a POST with its body, and does nothing else. A
// separate process with one thread that the caller pins. Prints one ready line; ends with stdin.
import { App, us_socket_local_port } from 'uWebSockets.js';

const HOST = '127.0.0.1';

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

App()
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
