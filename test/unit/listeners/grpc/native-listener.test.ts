// The JavaScript side of the native gRPC listener over a fake addon: forwarded calls, errors that
// need a message, a drain, and its start.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { ListenerCommand, ListenerEvent } from '../../../../ts/base/generated/engine.js';
import {
  GrpcStatus,
  PLAIN_WORDING,
  type GrpcReply,
  type GrpcService,
  type GrpcStreamCall,
  type GrpcUnaryCall,
} from '../../../../ts/listeners/grpc/call.js';
import {
  NativeGrpcListener,
  type NativeGrpcListenerOptions,
} from '../../../../ts/listeners/grpc/native-listener.js';
import { GRPC_CONNECTION_DEFAULTS } from '../../../../ts/listeners/grpc/settings.js';
import { deadlineBytes, FakeNative, packed } from './fake-native.js';

const THREADS = 2;
/** A number beyond 32 bits. */
const CALL = 5 * 2 ** 32 + 9;
const OTHER_WORDING = { queueFull: 'full: ', bytesMax: 10, cutMark: '!', missing: [] };

interface Happened {
  readonly log: string[];
  readonly held: { call: GrpcUnaryCall; reply: GrpcReply }[];
  readonly streams: GrpcStreamCall[];
}

function testService({ log, held, streams }: Happened): GrpcService {
  return {
    name: 'test.Service',
    unary: {
      Echo: (call, reply) => reply(null, call.request),
      Fail: (_, reply) => reply(new GrpcStatus(9, 'no é')),
      Throw: () => {
        throw new Error('handler broke');
      },
      Hold: (call, reply) => {
        held.push({ call, reply });
        call.on('cancelled', () => log.push('cancelled'));
      },
    },
    streams: {
      Chat: (call) => {
        streams.push(call);
        return {
          onMessage: (message) => {
            if (message.toString() === 'throw') throw new Error('stream broke');
            log.push(`message ${message.toString()}`);
          },
          onHalfClose: () => log.push('half-closed'),
          onCancel: () => log.push('gone'),
          onFlushed: () => log.push(`flushed ${call.unflushed}`),
          onDrain: () => {
            log.push('drain');
            call.end(new GrpcStatus(14, 'draining'));
          },
        };
      },
      Broken: () => {
        throw new Error('open broke');
      },
    },
    engine: {
      Infer: {
        streams: false,
        protocol: 4,
        wording: OTHER_WORDING,
        explain: (code, body, missingBytes) => {
          const text = body.toString('utf8', missingBytes);
          if (text === 'throw') throw new Error('explain broke');
          if (text === 'reply') return body.subarray(0, missingBytes);
          return new GrpcStatus(5, `${code} ${missingBytes} ${text}`);
        },
      },
    },
  };
}

function rig(change: Partial<NativeGrpcListenerOptions> = {}) {
  const log: string[] = [];
  const reported: unknown[] = [];
  const held: Happened['held'] = [];
  const streams: GrpcStreamCall[] = [];
  const service = testService({ log, held, streams });
  const native = new FakeNative();
  const listener = new NativeGrpcListener(native, {
    host: 'here',
    port: 3,
    services: [service],
    transport: {
      ...GRPC_CONNECTION_DEFAULTS,
      receiveBytesMax: 100,
      sendBytesMax: 100,
      unixPath: '',
      tls: { certificate: { text: 'c' }, key: { text: 'k' }, clientRequired: false },
      threads: THREADS,
      compressionLevel: 0,
    },
    connectionsMax: 4,
    unsentBytesMax: 50,
    full: (connections) => log.push(`full ${connections}`),
    handshakeFailed: ({ failures, peer, reason }) => log.push(`${failures} ${peer}: ${reason}`),
    certificates: (problem) => log.push(`certificates ${String(problem)}`),
    report: (error) => reported.push(error),
    ...change,
  });
  const open = (method: string, call = CALL, thread = 1): Buffer => {
    const index = native.method(`/test.Service/${method}`);
    return packed(ListenerEvent.Open, thread, call, index, deadlineBytes(1234.5));
  };
  const message = (text: string, call = CALL, thread = 1): Buffer =>
    packed(ListenerEvent.Message, thread, call, 0, Buffer.from(text));
  return { native, listener, log, reported, held, streams, open, message };
}

function started(change: Partial<NativeGrpcListenerOptions> = {}) {
  const made = rig(change);
  assert.equal(made.listener.start(), 7);
  return made;
}

describe('native gRPC listener: start', () => {
  it('passes settings, methods, wordings and statuses on', () => {
    const { native } = started();
    const { options } = native;
    assert.ok(options);
    assert.deepEqual(
      [options.host, options.port, options.threads, options.receiveBytesMax, options.sendBytesMax],
      ['here', 3, THREADS, 100, 100],
    );
    assert.deepEqual(
      [options.connectionsMax, options.unsentBytesMax, options.handshakeMsMax],
      [4, 50, 10_000],
    );
    assert.equal(options.inflatedBytesMax, 104_857_600, "REST's limit");
    assert.deepEqual(options.wordings, [PLAIN_WORDING, OTHER_WORDING]);
    const [echo, infer, chat] = ['Echo', 'Infer', 'Chat'].map(
      (name) => options.methods[native.method(`/test.Service/${name}`)],
    );
    assert.deepEqual(echo, {
      path: '/test.Service/Echo',
      streams: false,
      protocol: -1,
      wording: 0,
    });
    assert.deepEqual([infer?.protocol, infer?.wording, infer?.streams], [4, 1, false]);
    assert.deepEqual([chat?.protocol, chat?.streams], [-1, true]);
    assert.equal(options.statuses[ErrorCode.ModelNotFound], 5);
    assert.equal(options.statuses.length, Object.keys(ErrorCode).length / 2);
    assert.ok([...options.statuses].every((status) => typeof status === 'number'));
  });

  it('rejects with the reason, and is then stopped and drained as one that never was', async () => {
    const { native, listener } = rig();
    native.refusal = new ServalError(ErrorCode.InvalidArgument, 'gRPC cannot listen on here');
    assert.throws(() => listener.start(), native.refusal);
    assert.deepEqual(await listener.drain(1), { requests: 0, models: {} });
    listener.stop();
    listener.reloadCertificates();
    assert.deepEqual(native.done, []);
  });
});

describe('native gRPC listener: unary calls', () => {
  it('answers with a message and a status', () => {
    const { native, open, message } = started();
    native.tell(open('Echo'), message('hello'));
    const of = { thread: 1, call: CALL };
    assert.deepEqual(native.taken(), [
      { ...of, command: ListenerCommand.Message, value: 0, bytes: Buffer.from('hello') },
      { ...of, command: ListenerCommand.Finish, value: 0, bytes: Buffer.alloc(0) },
    ]);
    native.tell(open('Fail'), message(''));
    assert.deepEqual(native.taken(), [
      { ...of, command: ListenerCommand.Finish, value: 9, bytes: Buffer.from('no é') },
    ]);
    native.tell(open('Throw'), message(''));
    assert.equal(native.taken()[0]?.bytes.toString(), 'internal error: handler broke');
  });

  it('keeps calls of threads apart', () => {
    const { native, held, open, message } = started();
    native.tell(open('Hold', 1, 0), open('Hold', 1, 1), message('a', 1, 0), message('b', 1, 1));
    assert.deepEqual(
      held.map(({ call }) => call.request.toString()),
      ['a', 'b'],
    );
    held[1]?.reply(null, Buffer.from('B'));
    held[0]?.reply(null, Buffer.from('A'));
    assert.deepEqual(
      native.taken().map(({ thread, bytes }) => `${thread}${bytes.toString()}`),
      ['1B', '1', '0A', '0'],
    );
  });

  it('shows the deadline, and tells who went away; nothing is sent then', () => {
    const { native, held, log, open, message } = started();
    native.tell(open('Hold'), message(''));
    assert.equal(held[0]?.call.getDeadline(), 1234.5);
    native.tell(packed(ListenerEvent.Closed, 1, CALL, 0));
    assert.deepEqual(log, ['cancelled']);
    held[0]?.reply(null, Buffer.from('late'));
    assert.deepEqual(native.taken(), []);
  });

  it('answers once', () => {
    const { native, held, open, message } = started();
    native.tell(open('Hold'), message(''));
    held[0]?.reply(null, Buffer.from('1'));
    held[0]?.reply(null, Buffer.from('2'));
    assert.equal(native.taken().length, 2);
  });

  it('passes over what comes for calls that have ended', () => {
    const { native, reported, open, message } = started();
    native.tell(open('Echo'), message('x'));
    native.taken();
    native.tell(
      message('again'),
      packed(ListenerEvent.HalfClosed, 1, CALL, 0),
      packed(ListenerEvent.Left, 1, CALL, 1),
      packed(ListenerEvent.Closed, 1, CALL, 0),
    );
    assert.deepEqual([native.taken(), reported], [[], []]);
  });
});

describe('native gRPC listener: streams', () => {
  it('hands messages over, counts answers that have not left, and ends', () => {
    const { native, log, streams, open, message } = started();
    native.tell(open('Chat'), message('a'), message('b'));
    const [call] = streams;
    assert.ok(call);
    assert.equal(call.deadline, 1234.5);
    call.write(Buffer.from('1'));
    call.write(Buffer.from('2'));
    assert.equal(call.unflushed, 2);
    native.tell(
      packed(ListenerEvent.Left, 1, CALL, 2),
      packed(ListenerEvent.HalfClosed, 1, CALL, 0),
    );
    assert.deepEqual(log, ['message a', 'message b', 'flushed 1', 'flushed 0', 'half-closed']);
    call.end(null);
    call.write(Buffer.from('3'));
    assert.deepEqual(
      native.taken().map(({ command, value, bytes }) => [command, value, bytes.toString()]),
      [
        [ListenerCommand.Message, 0, '1'],
        [ListenerCommand.Message, 0, '2'],
        [ListenerCommand.Finish, 0, ''],
      ],
    );
  });

  it('pauses while many answers have not left', () => {
    const { native, streams, open } = started();
    native.tell(open('Chat'));
    const [call] = streams;
    assert.ok(call);
    const pauses = (): number[] =>
      native
        .taken()
        .filter(({ command }) => command === ListenerCommand.Pause)
        .map(({ value }) => value);
    for (let i = 0; i < 70; i += 1) call.write(Buffer.alloc(1));
    assert.deepEqual(pauses(), [1]);
    native.tell(packed(ListenerEvent.Left, 1, CALL, 7));
    assert.deepEqual(pauses(), [0]);
    call.write(Buffer.alloc(9_000_000));
    assert.deepEqual(pauses(), [1]);
  });

  it('tells who went away, and ends what throws', () => {
    const { native, log, open, message } = started();
    native.tell(open('Chat', 1), open('Chat', 2), open('Broken', 3));
    native.tell(packed(ListenerEvent.Closed, 1, 1, 0), message('throw', 2));
    assert.deepEqual(log, ['gone']);
    assert.deepEqual(
      native.taken().map(({ call, value, bytes }) => [call, value, bytes.toString()]),
      [
        [3, 13, 'internal error: open broke'],
        [2, 13, 'internal error: stream broke'],
      ],
    );
  });
});

describe("native gRPC listener: what the engine's methods leave", () => {
  const failure = (missing: string, text: string): Buffer => {
    const head = Buffer.alloc(12);
    head.writeUInt32LE(ErrorCode.ModelNotFound);
    head.writeUInt32LE(missing.length, 4);
    return Buffer.concat([head, Buffer.from(missing + text)]);
  };

  it('is worded as a status or a reply, and what throws is reported', () => {
    const { native, reported } = started();
    const index = native.method('/test.Service/Infer');
    for (const text of ['text', 'reply', 'throw']) {
      native.tell(packed(ListenerEvent.Explain, 0, 4, index, failure('abc', text)));
    }
    assert.deepEqual(
      native.taken().map(({ command, value, bytes }) => [command, value, bytes.toString()]),
      [
        [ListenerCommand.ExplainedStatus, 5, `${ErrorCode.ModelNotFound} 3 text`],
        [ListenerCommand.ExplainedReply, 0, 'abc'],
        [ListenerCommand.ExplainedStatus, 13, 'internal error: explain broke'],
      ],
    );
    assert.equal(reported.length, 1);
  });
});

describe('native gRPC listener: the rest of its life', () => {
  it('tells of refused connections, failed handshakes and certificates', () => {
    const { native, listener, log } = started();
    listener.reloadCertificates();
    native.tell(
      packed(ListenerEvent.Full, 0, 0, 12),
      packed(ListenerEvent.HandshakeFailed, 0, 0, 4, Buffer.from('[::1]:80\u0000no shared cipher')),
      packed(ListenerEvent.Certificates, 0, 0, 0),
      packed(ListenerEvent.Certificates, 0, 0, 1, Buffer.from('why')),
    );
    assert.deepEqual(native.done, ['reload']);
    assert.deepEqual(log, [
      'full 12',
      '4 [::1]:80: no shared cipher',
      'certificates undefined',
      'certificates why',
    ]);
  });

  it('drains: streams are told, those that open later too; the rest is cut', async () => {
    const { native, listener, log, open, message } = started();
    native.tell(open('Chat', 1), open('Hold', 2), message('', 2));
    const draining = listener.drain(1.5);
    native.tell(open('Chat', 3));
    assert.deepEqual(log, ['drain', 'drain']);
    const models = Buffer.from('2 half\u00001 a b\u0000');
    native.tell(packed(ListenerEvent.Drained, 0, 0, 3, models));
    assert.deepEqual(await draining, { requests: 3, models: { half: 2, 'a b': 1 } });
    assert.deepEqual(native.done, ['drain 1500', 'stop']);
    assert.deepEqual(log, ['drain', 'drain', 'cancelled']);
  });

  it('says what forwarded calls waited for that a drain cut, asked before they are', async () => {
    const asked: string[] = [];
    const { native, listener, log, open, message } = started({
      unanswered: () => {
        asked.push(log.join());
        return { half: 1, more: 2 };
      },
    });
    const calls = [1, 2, 3].flatMap((call) => [open('Hold', call), message('', call)]);
    native.tell(...calls);
    native.tell(packed(ListenerEvent.Closed, 1, 3, 0)); // its client left before the drain
    assert.deepEqual(asked, []);
    const draining = listener.drain(0);
    native.tell(
      packed(ListenerEvent.Closed, 1, 1, 0),
      packed(ListenerEvent.Closed, 1, 2, 0),
      packed(ListenerEvent.Drained, 0, 0, 4, Buffer.from('2 half\u00001 half\u0000')),
    );
    const models = { half: 4, more: 2 };
    assert.deepEqual(await draining, { requests: 4, models });
    assert.deepEqual(asked, ['cancelled']);
    assert.deepEqual(log, ['cancelled', 'cancelled', 'cancelled']);
  });

  it('takes many packs, and leaves others their turn in between', async () => {
    const { native, held, open, message } = started();
    for (let i = 0; i < 40; i += 1) {
      native.packs.push(Buffer.concat([open('Hold', i), message('', i)]));
    }
    native.tell();
    assert.equal(held.length, 16);
    while (native.packs.length > 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(held.length, 40);
  });

  it('reports events that it does not know, or that are cut', () => {
    const { native, reported, log, open } = started();
    native.tell(open('Chat').subarray(0, 28));
    native.tell(
      packed(200 as ListenerEvent, 0, 0, 0),
      packed(ListenerEvent.Open, 0, 1, 99, deadlineBytes(1)),
      packed(ListenerEvent.Full, 0, 0, 3),
      Buffer.alloc(7),
    );
    assert.deepEqual(
      reported.map((error) => (error as Error).message),
      [
        'gRPC event at byte 0 is truncated',
        'gRPC event of kind 200',
        'gRPC method 99 is not forwarded',
        'gRPC event at byte 84 is truncated',
      ],
    );
    assert.deepEqual(log, ['full 3']);
  });
});
