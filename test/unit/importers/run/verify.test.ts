// Verification of a loaded model by its own records: requests, equality, messages. Source: the PMML
// standard, "Model Verification".
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { verify } from '../../../../ts/importers/run/verify.js';
import type { EngineControl } from '../../../../ts/model/engine-api.js';
import { V2_GRPC } from '../../../../ts/model/request-kinds.js';
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';
import type { Verification } from '../../../../ts/importers/plan/verification.js';

type Answered = number | string | boolean | undefined;

function rawOf(value: Answered): readonly [datatype: string, raw: Buffer] {
  if (typeof value === 'string') {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(Buffer.byteLength(value));
    return ['BYTES', Buffer.concat([head, Buffer.from(value)])];
  }
  if (typeof value === 'boolean') return ['BOOL', Buffer.from([Number(value)])];
  const raw = Buffer.alloc(8);
  raw.writeDoubleLE(value ?? Number.NaN);
  return ['FP64', raw];
}

/** An engine that returns the given output "y" for each request, or refuses it. */
function answering(...answers: readonly (Answered | Error)[]) {
  const messages: string[] = [];
  const warmUp: EngineControl['warmUp'] = (handle, protocol, message, signal) => {
    assert.deepEqual([handle, protocol], [7, V2_GRPC]);
    const answer = answers[messages.length];
    messages.push(Buffer.from(message).toString('latin1'));
    if (signal?.aborted === true) return Promise.reject(new Error('aborted'));
    if (answer instanceof Error) return Promise.reject(answer);
    const [datatype, raw] = rawOf(answer);
    const tensor = (writer: ProtobufWriter) => writer.string(1, 'y').string(2, datatype);
    return Promise.resolve(new ProtobufWriter().message(5, tensor).bytes(6, raw).toBuffer());
  };
  return { messages, warmUp };
}

function expecting(...expected: readonly (string | undefined)[]): Verification {
  return {
    outputs: [{ name: 'y', precision: 1e-3, zeroThreshold: 1e-6 }],
    records: expected.map((text, i) => ({
      inputs: new Map([['x', `in ${i}`]]),
      expected: new Map(text === undefined ? [] : [['y', text]]),
    })),
  };
}

const EQUAL: readonly [expected: string, actual: Answered][] = [
  ['1000', 1000.99],
  ['1000', 999.01],
  ['-1000', -1000.99],
  ['-1000', -999.01],
  ['0', 1e-6],
  ['1e-6', -1e-6],
  [' 2.5 ', 2.5],
  ['setosa', 'setosa'],
  ['', ''],
  ['true', true],
  ['1', true],
  ['false', false],
  ['2024-02-29T23:15:00', '29/02/2024 23:15:00'],
];

const DIFFERENT: readonly [expected: string, actual: Answered, said: string][] = [
  ['1000', 1001.1, 'expected 1000 (precision 0.001), got 1001.1'],
  ['1000', 998.9, 'expected 1000 (precision 0.001), got 998.9'],
  ['0', 2e-6, 'expected 0 (precision 0.001), got 0.000002'],
  ['0.5', undefined, 'expected "0.5", got a missing value'],
  ['', 0, 'expected  (precision 0.001), got 0'],
  ['abc', 0, 'expected abc (precision 0.001), got 0'],
  ['setosa', 'Setosa', 'expected "setosa", got "Setosa"'],
  ['true', false, 'expected "true", got false'],
  ['other', false, 'expected "other", got false'],
];

test('equal within precision, near zero, and texts', async () => {
  for (const [expected, actual] of EQUAL) {
    await verify(answering(actual), 7, expecting(expected));
  }
  await verify(answering(5), 7, expecting(undefined)); // nothing is expected
});

test('reports differences with record, output, expected and got', async () => {
  for (const [expected, actual, said] of DIFFERENT) {
    await assert.rejects(verify(answering('1', actual), 7, expecting('1', expected)), (error) => {
      assert.ok(error instanceof ServalError);
      assert.equal(error.code, ErrorCode.ModelInvalid);
      const what = "the model's results differ from its own verification records";
      assert.equal(error.message, `${what}: record 2: 'y': ${said}`);
      return true;
    });
  }
});

test('a request has the fields that the record has, and asks for what is expected', async () => {
  const engine = answering(1, 2);
  await verify(engine, 7, expecting('1', '2'));
  assert.equal(engine.messages.length, 2);
  assert.match(engine.messages[1] ?? '', /x.*BYTES.*y.*in 1/s);
});

test('counts refused records as faults, and reports up to twenty', async () => {
  const refused = new ServalError(ErrorCode.InvalidArgument, "field 'x': no number");
  await assert.rejects(
    verify(answering(refused, 5), 7, expecting('1', '6')),
    /record 1: refused: field 'x': no number; record 2: 'y': expected 6/,
  );
  const engine = answering(...new Array<number>(30).fill(0));
  const many = expecting(...new Array<string>(30).fill('1'));
  await assert.rejects(verify(engine, 7, many), /record 20: [^;]*; later records were not/);
  assert.equal(engine.messages.length, 20);
});

test('other errors stay what they are; a verification has an end', async () => {
  const gone = new ServalError(ErrorCode.ModelNotFound, 'no such handle');
  await assert.rejects(verify(answering(gone), 7, expecting('1')), /^ServalError.*no such handle/);
  const never: Pick<EngineControl, 'warmUp'> = {
    warmUp: (_handle, _protocol, _message, signal) =>
      new Promise((_, reject) => {
        // the signal's timer does not keep the process alive
        const hold = setInterval(() => undefined, 1000);
        signal?.addEventListener('abort', () => {
          clearInterval(hold);
          reject(new Error('ended'));
        });
      }),
  };
  await assert.rejects(
    verify(never, 7, expecting('1', '2'), 1),
    (error) => error instanceof ServalError && error.code === ErrorCode.DeadlineExceeded,
  );
});
