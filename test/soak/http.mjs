// Minimal HTTP and gRPC clients for the soak's workers. Test time only.
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { readFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

const TIMEOUT_MS = 60_000;
/**
 * The server closes connections that are silent for ten seconds, counted in steps of four. A client
 * that sends at that moment gets no response, and retries.
 */
const CLOSED_IDLE_MS = 5000;
const identity = (bytes) => bytes;

export const INFER_METHOD = '/inference.GRPCInferenceService/ModelInfer';
export const STREAM_METHOD = '/inference.GRPCInferenceService/ModelStreamInfer';
export const PREDICT_METHOD = '/tensorflow.serving.PredictionService/Predict';

export class Connections {
  /**
   * `ports` is {http, grpc}, `entry` {key, ca}: every request carries the key; the path of a
   * certificate enables TLS.
   */
  constructor(ports, { key, ca: caPath }) {
    this.ports = ports;
    this.key = key;
    this.ca = caPath && readFileSync(caPath);
    this.metadata = new Metadata();
    this.metadata.set('authorization', `Bearer ${key}`);
    /** The time of each connection's last complete response. */
    this.answeredMs = new WeakMap();
    const agent = { keepAlive: true, maxSockets: 64 };
    this.agent = this.ca ? new TlsAgent({ ...agent, ca: this.ca }) : new Agent(agent);
    const secrets = this.ca ? credentials.createSsl(this.ca) : credentials.createInsecure();
    this.client = new Client(`127.0.0.1:${ports.grpc}`, secrets, {
      'grpc.use_local_subchannel_pool': 1,
      ...(this.ca && { 'grpc.ssl_target_name_override': 'localhost' }),
      'grpc.max_receive_message_length': -1,
    });
  }

  /** Resolves to {status, headers, body}. `method` is GET, or POST with a body. */
  send(path, body, headers = {}, method = body === undefined ? 'GET' : 'POST') {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      let [connection, idleMs] = [undefined, 0];
      const request = this.ca ? httpsRequest : httpRequest;
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.ports.http,
          agent: this.agent,
          method,
          path,
          headers: { Authorization: `Bearer ${this.key}`, ...headers, ...length },
          timeout: TIMEOUT_MS,
        },
        (response) => {
          const parts = [];
          response.on('data', (part) => parts.push(part));
          response.on('error', reject);
          response.on('end', () => {
            this.answeredMs.set(connection, performance.now());
            resolve({
              status: response.statusCode,
              headers: response.headers,
              body: Buffer.concat(parts),
            });
          });
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no answer in ${TIMEOUT_MS} ms`)));
      sent.on('socket', (socket) => {
        connection = socket;
        const now = performance.now();
        idleMs = now - (this.answeredMs.get(socket) ?? now);
      });
      sent.on('error', (error) => {
        // uWebSockets.js applies a new certificate by opening a new listening socket: a client that
        // has just connected to the old one, before its handshake, is reset.
        const early = this.ca !== undefined && connection?.authorized !== true;
        if (error.code === 'ECONNRESET' && (idleMs > CLOSED_IDLE_MS || early)) {
          resolve(this.send(path, body, headers, method));
        } else reject(new Error(`${method} ${path}: ${error.message}`));
      });
      sent.end(body);
    });
  }

  /** A raw connection to the HTTP port; `begun` is called when it is writable. */
  raw(begun) {
    const to = { host: '127.0.0.1', port: this.ports.http };
    return this.ca ? tlsConnect({ ...to, ca: this.ca }, begun) : connect(to, begun);
  }

  /** The value of a JSON response; throws unless its status is 200. */
  async json(path, body, headers) {
    const answer = await this.send(path, body, headers);
    if (answer.status !== 200) {
      throw new Error(`${path}: ${answer.status} ${answer.body.toString('utf8', 0, 500)}`);
    }
    return answer.body.length === 0 ? undefined : JSON.parse(answer.body.toString());
  }

  /** One unary call. Resolves to {code, details, message}; `began` gets the call. */
  call(method, message, { deadlineMs = TIMEOUT_MS, began = () => {} } = {}) {
    const options = { deadline: Date.now() + deadlineMs };
    return new Promise((resolve) => {
      const answered = (error, answer) => {
        resolve({ code: error?.code ?? 0, details: error?.details ?? '', message: answer });
      };
      began(
        this.client.makeUnaryRequest(
          method,
          identity,
          identity,
          message,
          this.metadata,
          options,
          answered,
        ),
      );
    });
  }

  /** One call with many messages in both directions. Resolves to {code, details, messages}. */
  stream(method, messages, { deadlineMs = TIMEOUT_MS } = {}) {
    const options = { deadline: Date.now() + deadlineMs };
    const { client, metadata } = this;
    const call = client.makeBidiStreamRequest(method, identity, identity, metadata, options);
    const got = [];
    call.on('data', (message) => got.push(message));
    call.on('error', () => {}); // reported by its status
    const ended = new Promise((resolve) => {
      call.on('status', ({ code, details }) => resolve({ code, details, messages: got }));
    });
    for (const message of messages) call.write(message);
    call.end();
    return ended;
  }

  close() {
    this.agent.destroy();
    this.client.close();
  }
}
