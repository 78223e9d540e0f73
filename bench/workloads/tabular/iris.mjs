// The tree for iris of examples/models, one row per request, against half_plus_three, an ONNX
// model, under the same load over the same protocol: the cost of a tabular model compared with one
// tensor.
import { bytesOf, doublesOf, v2JsonRequest } from '../../bodies.mjs';
import { expectBytes, expectFloats } from '../../check.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { openHalfPlusThree, smallGrpcLoad } from '../grpc/small.mjs';
import { planV2 as planHalfPlusThree } from '../json-small.mjs';
import { openServalGrpc, openServalHttp } from '../sides.mjs';

const MODEL = 'iris_tree';
const ONNX_MODEL = 'half_plus_three';
const CONNECTIONS = 64;
// The differences are a few percent.
const ROUNDS_TIMES = 2;
const ROW = [6.1, 2.8, 4.7, 1.2];
const SPECIES = 'versicolor';
// The leaf's counts are 0, 49 and 5.
const PROBABILITIES = [0, 49 / 54, 5 / 54];

/** The row in the extension's form, with all fields in one tensor. */
function together(names) {
  const features = names.join(',');
  return [
    {
      tensor: {
        name: 'row',
        datatype: 'FP64',
        shape: [1, names.length],
        parameters: { features },
      },
      values: ROW,
    },
  ];
}

/** The row in plain V2's form: a tensor for each field. */
function apart(names) {
  return names.map((name, at) => ({
    tensor: { name, datatype: 'FP64', shape: [1] },
    values: [ROW[at]],
  }));
}

/**
 * Compares the response with the tree's leaf. `found`: the target, the predicted class, the
 * probabilities, each a list of one.
 */
function checkAnswer([target, predicted, ...chances]) {
  expectBytes('species', Buffer.from(target), Buffer.from(SPECIES));
  expectBytes('predicted_species', Buffer.from(predicted), Buffer.from(SPECIES));
  expectFloats('probabilities', chances, PROBABILITIES);
}

const planGrpc =
  (inputsOf) =>
  ({ inputs }) => ({
    message: modelInferRequest(
      MODEL,
      inputsOf(inputs.map(({ name }) => name)).map(({ tensor, values }) => ({
        tensor,
        bytes: bytesOf(Float64Array.from(values)),
      })),
    ),
    check: (answer) => {
      const [target, predicted, ...chances] = rawOutputs(answer);
      // A string follows four bytes with its length.
      const texts = [target, predicted].map((bytes) => bytes.toString('utf8', 4));
      checkAnswer([...texts, ...chances.map((bytes) => doublesOf(bytes)[0])]);
    },
  });

const planJson =
  (inputsOf) =>
  ({ inputs }) => ({
    request: v2JsonRequest(
      MODEL,
      inputsOf(inputs.map(({ name }) => name)).map(({ tensor, values }) => ({
        tensor,
        texts: values.map(String),
      })),
    ),
    check: (answer) => {
      const { outputs } = JSON.parse(answer.body.toString());
      checkAnswer(outputs.map(({ data }) => data[0]));
    },
  });

const httpLoad = (...args) => wrkLoad(...args, CONNECTIONS);

const grpcSides = (inputsOf) => ({
  reference: 'ONNX half_plus_three, gRPC',
  openServal: (context, root) =>
    openServalGrpc(context, root, { model: MODEL, plan: planGrpc(inputsOf), load: smallGrpcLoad }),
  openReference: (context) => openHalfPlusThree(context, context.root),
});

const jsonSides = (inputsOf) => ({
  reference: 'ONNX half_plus_three, V2 JSON',
  openServal: (context, root) =>
    openServalHttp(context, root, { model: MODEL, plan: planJson(inputsOf), load: httpLoad }),
  openReference: (context) =>
    openServalHttp(context, context.root, {
      model: ONNX_MODEL,
      plan: planHalfPlusThree,
      load: httpLoad,
    }),
});

const JUDGED = { metric: 'rate', roundsTimes: ROUNDS_TIMES };
const TARGET = { relation: '>=', limit: 0.9 };

export const iris = [
  {
    id: 'tabular-iris-grpc',
    title: 'iris tree (PMML), one row, gRPC raw, features, 4x16',
    ...JUDGED,
    target: TARGET,
    ...grpcSides(together),
  },
  {
    id: 'tabular-iris-v2-json',
    title: `iris tree (PMML), one row, V2 JSON, features, ${CONNECTIONS} connections`,
    ...JUDGED,
    target: TARGET,
    ...jsonSides(together),
  },
  {
    id: 'tabular-iris-grpc-fields',
    title: 'the same by gRPC, a tensor for each field',
    ...JUDGED,
    target: null,
    ...grpcSides(apart),
  },
  {
    id: 'tabular-iris-v2-json-fields',
    title: 'the same by V2 JSON, a tensor for each field',
    ...JUDGED,
    target: null,
    ...jsonSides(apart),
  },
];
