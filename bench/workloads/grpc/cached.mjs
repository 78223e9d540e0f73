// Responses from the cache: requests for one image of 602 KB that is known, against gRPC's own C++
// echoing the same message.
import { join } from 'node:path';
import { makeRepository } from '../repositories.mjs';
import { CPP_ECHO, openGrpcEcho, openServalGrpc } from '../sides.mjs';
import { IMAGES_IN_FLIGHT, IMAGE_MODEL, imageLoad, planImages } from './bodies.mjs';

const CONFIG = 'response_cache { enable: true }\n';
const CACHE = ['--cache-config', 'local,size=67108864'];

async function openCached(context, root) {
  const entries = { [IMAGE_MODEL]: { model: IMAGE_MODEL, config: CONFIG } };
  return openServalGrpc(context, root, {
    model: IMAGE_MODEL,
    path: join(await makeRepository(context, entries), IMAGE_MODEL),
    plan: (described) => planImages(described, 1),
    load: imageLoad,
    args: CACHE,
  });
}

export const cached = [
  {
    id: 'cache-hit',
    title: `gRPC ModelInfer, 602 KB in and out from the cache, ${IMAGES_IN_FLIGHT} connections`,
    reference: CPP_ECHO,
    metric: 'rate',
    target: { relation: '>=', limit: 0.7 },
    openServal: openCached,
    openReference: (context, serval) => openGrpcEcho(context, serval, imageLoad),
  },
];
