// Sends one request before anything is timed: a fast wrong response must not be measured. Control
// plane.
import { request } from 'node:https';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

const TIMEOUT_MS = 20_000;

/** The scheme is https if the server's clients have a CA to trust. */
export const schemeOf = ({ ca }) => (ca === undefined ? 'http' : 'https');

/**
 * Sends `request` once. Resolves to {headers, body}; rejects on any status but 200. `timeoutMs`
 * only applies without TLS.
 */
export async function sendOnce(server, request, timeoutMs = TIMEOUT_MS) {
  if (server.ca !== undefined) return sendOverTls(server, request);
  const hasBody = request.body !== undefined;
  const url = `http://${server.host}:${server.port}${request.path}`;
  const response = await fetch(url, {
    method: request.method,
    signal: AbortSignal.timeout(timeoutMs),
    headers: request.headers ?? {},
    ...(hasBody ? { body: request.body } : {}),
  }).catch((error) => {
    throw new Error(`${request.method} ${url}: ${(error.cause ?? error).message}`);
  });
  const body = Buffer.from(await response.arrayBuffer());
  return answered(request, response.status, response.headers, body);
}

function answered({ method, path }, status, headers, body) {
  if (status === 200) return { headers, body };
  throw new Error(`${method} ${path}: ${status} ${body.toString('utf8', 0, 500)}`);
}

// fetch() only trusts the process's CAs.
function sendOverTls({ host, port, ca }, { method, path, headers = {}, body }) {
  const options = { host, port, path, method, headers, ca, agent: false, timeout: TIMEOUT_MS };
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const headers = new Headers(
          Object.entries(response.headers).map(([k, v]) => [k, String(v)]),
        );
        try {
          resolve(answered({ method, path }, response.statusCode, headers, Buffer.concat(chunks)));
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no response in time`)));
    sent.end(body);
  });
}

const MESSAGE_BYTES_MAX = 1 << 30;
const identity = (bytes) => bytes;

/** Makes a client, and a deadline for its call. */
function openClient(server, timeoutMs = TIMEOUT_MS) {
  const secured =
    server.ca === undefined ? credentials.createInsecure() : credentials.createSsl(server.ca);
  const client = new Client(`${server.host}:${server.port}`, secured, {
    'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
    'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
  });
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(server.metadata ?? {})) metadata.set(name, value);
  return { client, metadata, options: { deadline: Date.now() + timeoutMs } };
}

/** Makes one unary gRPC call with raw bytes. Resolves to the response's bytes. */
export function callOnce(server, path, message, timeoutMs = TIMEOUT_MS) {
  const { client, metadata, options } = openClient(server, timeoutMs);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      identity,
      identity,
      message,
      metadata,
      options,
      (error, answer) => {
        client.close();
        if (error === null) resolve(answer);
        else reject(error);
      },
    );
  });
}

/** Sends one message on a bidirectional stream. Resolves to the bytes of the only response. */
export function streamOnce(server, path, message) {
  const { client, metadata, options } = openClient(server);
  const call = client.makeBidiStreamRequest(path, identity, identity, metadata, options);
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
    const sizes = `${got.length} bytes differ from the ${expected.length} expected`;
    throw new Error(`${what}: ${sizes}`);
  }
}

/**
 * Reads the V2 metadata of `model`: its inputs and outputs as {name, datatype, shape}. `input` and
 * `output` are the only ones, and throw if there are several.
 */
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
