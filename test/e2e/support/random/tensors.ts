// V2 requests with several tensors, over REST as JSON and over gRPC, and their outputs as plain
// values, so that both can be compared. Test time only.
import assert from 'node:assert/strict';
import {
  decode,
  encode,
  messageTypes,
  type RawClient,
} from '../../../unit/protocols/raw-client.js';
import { infer } from '../operating.js';
import { jsonOf } from '../raw-http.js';
import type { ServalProcess } from '../serval-process.js';

export type Datatype = 'FP32' | 'FP64' | 'INT64' | 'BYTES';

export interface Tensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Row-major; integers of INT64 are safe ones. */
  readonly data: readonly (number | string)[];
}

/** By name. */
export type Tensors = Readonly<Record<string, Tensor>>;

export const INFER = '/inference.GRPCInferenceService/ModelInfer';

const types = messageTypes();

const CONTENTS: Readonly<Record<Datatype, string>> = {
  FP32: 'fp32_contents',
  FP64: 'fp64_contents',
  INT64: 'int64_contents',
  BYTES: 'bytes_contents',
};

/** JSON.stringify writes -0 as 0. */
const jsonValue = (value: number | string): string =>
  Object.is(value, -0) ? '-0.0' : JSON.stringify(value);

export function restBody(inputs: Tensors, outputs?: readonly string[]): string {
  const tensors = Object.entries(inputs).map(([name, { datatype, shape, data }]) => {
    const head = JSON.stringify({ name, datatype, shape }).slice(0, -1);
    return `${head},"data":[${data.map(jsonValue).join()}]}`;
  });
  const wanted = outputs?.map((name) => ({ name }));
  const more = wanted === undefined ? '' : `,"outputs":${JSON.stringify(wanted)}`;
  return `{"inputs":[${tensors.join()}]${more}}`;
}

export function grpcMessage(model: string, inputs: Tensors, outputs?: readonly string[]): Buffer {
  return encode(types, 'inference.ModelInferRequest', {
    model_name: model,
    inputs: Object.entries(inputs).map(([name, { datatype, shape, data }]) => ({
      ...{ name, datatype, shape },
      contents: {
        [CONTENTS[datatype]]:
          datatype === 'BYTES' ? data.map((one) => Buffer.from(String(one))) : data,
      },
    })),
    outputs: (outputs ?? []).map((name) => ({ name })),
  });
}

function valuesOf(datatype: Datatype, bytes: Buffer): readonly (number | string)[] {
  const values: (number | string)[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (datatype === 'BYTES') {
      const end = at + 4 + bytes.readUInt32LE(at);
      values.push(bytes.toString('utf8', at + 4, end));
      at = end;
      continue;
    }
    if (datatype === 'FP32') values.push(bytes.readFloatLE(at));
    else if (datatype === 'FP64') values.push(bytes.readDoubleLE(at));
    else values.push(Number(bytes.readBigInt64LE(at)));
    at += datatype === 'FP32' ? 4 : 8;
  }
  return values;
}

interface Reply {
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: Datatype;
    readonly shape: readonly string[];
  }[];
  readonly raw_output_contents: readonly Uint8Array[];
}

/** The outputs of a ModelInferResponse. */
export function grpcOutputs(message: Buffer): Tensors {
  const reply = decode(types, 'inference.ModelInferResponse', message) as Reply;
  return Object.fromEntries(
    reply.outputs.map(({ name, datatype, shape }, at) => {
      const bytes = Buffer.from(reply.raw_output_contents[at] ?? []);
      return [name, { datatype, shape: shape.map(Number), data: valuesOf(datatype, bytes) }];
    }),
  );
}

/** A call that must succeed, over REST. */
export async function inferRest(
  server: ServalProcess,
  model: string,
  inputs: Tensors,
  outputs?: readonly string[],
): Promise<Tensors> {
  const answer = await infer(server, model, restBody(inputs, outputs));
  assert.equal(answer.status, 200, `${model}: ${answer.body.toString()}`);
  const { outputs: all } = jsonOf(answer) as { outputs: readonly (Tensor & { name: string })[] };
  return Object.fromEntries(
    all.map(({ name, datatype, shape, data }) => {
      // JSON has the shortest text of a float, which is another double.
      const values = datatype === 'FP32' ? data.map((one) => Math.fround(Number(one))) : data;
      return [name, { datatype, shape, data: values }];
    }),
  );
}

/** A call that must succeed, over gRPC. */
export async function inferGrpc(
  client: RawClient,
  model: string,
  inputs: Tensors,
  outputs?: readonly string[],
): Promise<Tensors> {
  const answer = await client.unary(INFER, grpcMessage(model, inputs, outputs));
  assert.equal(answer.code, 0, `${model}: ${answer.details}`);
  assert.ok(answer.message);
  return grpcOutputs(answer.message);
}
