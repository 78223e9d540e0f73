// One request through before anything is timed: a fast wrong answer must not be measured.
// Control plane.
import { Client, credentials, Metadata } from '@grpc/grpc-js';

const TIMEOUT_MS = 20_000;

/** Sends `request` once. Resolves to {headers, body}; rejects on any status but 200. */
export async function sendOnce(server, request) {
  const hasBody = request.body !== undefined;
  const url = `http://${server.host}:${server.port}${request.path}`;
  const response = await fetch(url, {
    method: request.method,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: request.headers ?? {},
    ...(hasBody ? { body: request.body } : {}),
  }).catch((error) => {
    throw new Error(`${request.method} ${url}: ${(error.cause ?? error).message}`);
  });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) {
    const text = body.toString('utf8', 0, 500);
    throw new Error(`${request.method} ${request.path}: ${response.status} ${text}`);
  }
  return { headers: response.headers, body };
}

const MESSAGE_BYTES_MAX = 1 << 30;
const identity = (bytes) => bytes;

/** A client, with a deadline for its call. */
function openClient(server) {
  const client = new Client(`${server.host}:${server.port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
    'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
  });
  return { client, options: { deadline: Date.now() + TIMEOUT_MS } };
}

/** One unary gRPC call with raw bytes. Resolves to the answer's bytes. */
export function callOnce(server, path, message) {
  const { client, options } = openClient(server);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      identity,
      identity,
      message,
      new Metadata(),
      options,
      (error, answer) => {
        client.close();
        if (error === null) resolve(answer);
        else reject(error);
      },
    );
  });
}

/** One message on a stream of both directions. Resolves to the only answer's bytes. */
export function streamOnce(server, path, message) {
  const { client, options } = openClient(server);
  const call = client.makeBidiStreamRequest(path, identity, identity, new Metadata(), options);
  const answers = [];
  call.on('data', (answer) => answers.push(answer));
  call.end(message);
  return new Promise((resolve, reject) => {
    call.on('error', reject);
    call.on('end', () => {
      if (answers.length === 1) resolve(answers[0]);
      else reject(new Error(`${path}: ${answers.length} answers, expected 1`));
    });
  }).finally(() => client.close());
}

/** Throws unless both have the same length and differ by no more than `tolerance` anywhere. */
export function expectFloats(what, got, expected, tolerance = 0) {
  if (got.length !== expected.length) {
    throw new Error(`${what}: ${got.length} values, expected ${expected.length}`);
  }
  for (let index = 0; index < expected.length; index += 1) {
    if (!(Math.abs(got[index] - expected[index]) <= tolerance)) {
      throw new Error(`${what}[${index}]: got ${got[index]}, expected ${expected[index]}`);
    }
  }
}

/** Throws unless `got` holds exactly the bytes of `expected`. */
export function expectBytes(what, got, expected) {
  if (!expected.equals(got)) {
    const sizes = `${got.length} bytes, not the same as the ${expected.length} expected`;
    throw new Error(`${what}: ${sizes}`);
  }
}

/** V2 metadata of `model`: its inputs and outputs as {name, datatype, shape}; `input` and `output`
 * are the only ones, and throw where there are several. */
export async function describeModel(server, model) {
  const request = { method: 'GET', path: `/v2/models/${model}` };
  const { inputs, outputs } = JSON.parse((await sendOnce(server, request)).body.toString());
  const only = (list, what) => {
    if (list?.length === 1) return list[0];
    throw new Error(`${model}: expected one ${what} in its metadata`);
  };
  return {
    inputs,
    outputs,
    get input() {
      return only(inputs, 'input');
    },
    get output() {
      return only(outputs, 'output');
    },
  };
}
