// The image of 602 KB in shared memory, in and out, against the same image in the messages.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { bytesOf, makeFloats } from '../../bodies.mjs';
import { callOnce, expectBytes } from '../../check.mjs';
import { placedInferRequest, rawOutputs, registerRequest } from '../../wire.mjs';
import { openServalGrpc } from '../sides.mjs';
import {
  IMAGE_ELEMENTS,
  IMAGE_MODEL,
  IMAGE_SHAPE,
  IMAGES_IN_FLIGHT,
  imageLoad,
  openImages,
} from './bodies.mjs';

const REGISTER = '/inference.GRPCInferenceService/SystemSharedMemoryRegister';

/** Creates an object in /dev/shm with this content. */
function makeObject(context, content) {
  const key = `serval-bench-${process.pid}-${context.nextId()}`;
  const path = `/dev/shm/${key}`;
  writeFileSync(path, content);
  return { key, path, bytes: content.length };
}

async function openShared(context, root) {
  const image = bytesOf(makeFloats(IMAGE_ELEMENTS));
  const objects = {
    in: makeObject(context, image),
    out: makeObject(context, Buffer.alloc(image.length)),
  };
  const remove = () => {
    for (const { path } of Object.values(objects)) rmSync(path, { force: true });
  };
  const plan = ({ input, output }) => {
    const tensor = { name: input.name, datatype: input.datatype, shape: IMAGE_SHAPE };
    const place = (region) => ({ region, bytes: objects[region].bytes });
    return {
      message: placedInferRequest(IMAGE_MODEL, tensor, place('in'), output.name, place('out')),
      once: async (server, path, message) => {
        for (const [region, { key, bytes }] of Object.entries(objects)) {
          await callOnce(server, REGISTER, registerRequest(region, `/${key}`, bytes));
        }
        return callOnce(server, path, message);
      },
      check: (answer) => {
        expectBytes('data in the message', rawOutputs(answer)[0], Buffer.alloc(0));
        expectBytes('output', readFileSync(objects.out.path), image);
      },
    };
  };
  try {
    const side = await openServalGrpc(context, root, {
      model: IMAGE_MODEL,
      plan,
      load: imageLoad,
      args: ['--allow-client-shm=true'],
    });
    const close = async () => {
      await side.close();
      remove();
    };
    return { ...side, close };
  } catch (error) {
    remove();
    throw error;
  }
}

export const sharedMemory = [
  {
    id: 'grpc-large-shm',
    title: `gRPC ModelInfer, 602 KB in shared memory, ${IMAGES_IN_FLIGHT} connections`,
    reference: 'raw in and out in the messages',
    metric: 'rate',
    target: { relation: '>=', limit: 3 },
    openServal: openShared,
    openReference: (context) => openImages(context, context.root),
  },
];
