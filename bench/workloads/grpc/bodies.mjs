// ModelInfer with larger bodies against gRPC's own C++ echoing them: one image of 602 KB and eight
// in a batch through an identity model, and the MLP with dynamic batching.
import { bytesOf, makeFloats } from '../../bodies.mjs';
import { expectBytes } from '../../check.mjs';
import { grpcLoad } from '../../load/grpc-load.mjs';
import { modelInferRequest, rawOutputs } from '../../wire.mjs';
import { BATCHED, batchedLoad, openGrpc } from '../batching/mlp-server.mjs';
import { CPP_ECHO, openGrpcEcho, openServalGrpc } from '../sides.mjs';

export const IMAGE_MODEL = 'image_identity';
export const IMAGE_SHAPE = [1, 224, 224, 3];
export const IMAGE_ELEMENTS = 150_528;
// Enough in flight to keep the server's core busy.
export const IMAGES_IN_FLIGHT = 4;

/** A plan of `rows` images for a model that returns its input. */
export function planImages({ input }, rows, model = IMAGE_MODEL) {
  const bytes = bytesOf(makeFloats(rows * IMAGE_ELEMENTS));
  const shape = [rows, ...IMAGE_SHAPE.slice(1)];
  const tensor = { name: input.name, datatype: input.datatype, shape };
  const check = (answer) => expectBytes('output', rawOutputs(answer)[0] ?? Buffer.alloc(0), bytes);
  return { message: modelInferRequest(model, [{ tensor, bytes }]), check };
}

export const imageLoad = (context, server, call) =>
  grpcLoad(context, server, call, {
    how: 'closed',
    connections: IMAGES_IN_FLIGHT,
    count: IMAGES_IN_FLIGHT,
  });

/** `rows` images in the messages, in both directions. */
export const openImages = (context, root, rows = 1) =>
  openServalGrpc(context, root, {
    model: IMAGE_MODEL,
    plan: (described) => planImages(described, rows),
    load: imageLoad,
  });

const rate = { reference: CPP_ECHO, metric: 'rate' };

export const bodies = [
  {
    id: 'grpc-large',
    title: `gRPC ModelInfer, 602 KB raw in and out, ${IMAGES_IN_FLIGHT} connections`,
    ...rate,
    target: { relation: '>=', limit: 1 },
    openServal: (context, root) => openImages(context, root),
    openReference: (context, serval) => openGrpcEcho(context, serval, imageLoad),
  },
  {
    id: 'grpc-5mb',
    title: `gRPC ModelInfer, 4.8 MB raw in and out, ${IMAGES_IN_FLIGHT} connections`,
    ...rate,
    target: { relation: '>=', limit: 1 },
    openServal: (context, root) => openImages(context, root, 8),
    openReference: (context, serval) => openGrpcEcho(context, serval, imageLoad),
  },
  {
    id: 'grpc-mlp-batching',
    title: 'gRPC ModelInfer, MLP 784-512-10, 64 one-row requests in flight, batching',
    ...rate,
    target: { relation: '>=', limit: 0.9 },
    openServal: (context, root) => openGrpc(context, root, BATCHED),
    openReference: (context, serval) => openGrpcEcho(context, serval, batchedLoad),
  },
];
