// Triton's shared memory extensions over REST. Control requests with small JSON bodies; the
// listener's thread forwards them. Source: v2-protocol.md 2, 11.
import { SHARED_MEMORY, SHARED_MEMORY_CHANGE } from '../../../access/groups.js';
import type { Route } from '../../../listeners/http/listener.js';
import { LaterRoute } from '../../rest/body-route.js';
import {
  NOTHING,
  SMALL_BODY_BYTES_MAX,
  bodyRoute,
  json,
  member,
  type ControlContext,
} from '../rest-control.js';
import { decodedName, failV2, type Endpoint } from '../rest-replies.js';
import { cudaRegion, rawHandle, sharedRegion } from './region.js';

const URL = /^\/v2\/(system|cuda)sharedmemory(?:\/region\/([^/]+))?\/(status|register|unregister)$/;

type Verb = 'status' | 'register' | 'unregister';

function systemRoute(context: ControlContext, verb: Verb, name: string): Route {
  const { control } = context;
  switch (verb) {
    case 'status':
      return new LaterRoute(failV2, async () => json(await control.sharedRegions(name)));
    case 'register':
      return bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) => {
        const offset = member(body, 'offset') ?? 0;
        const region = sharedRegion(name, member(body, 'key'), offset, member(body, 'byte_size'));
        await control.registerSharedRegion(region);
        return NOTHING;
      });
    case 'unregister':
      return bodyRoute(context, SMALL_BODY_BYTES_MAX, async () => {
        await control.unregisterSharedRegion(name);
        return NOTHING;
      });
  }
}

function cudaRoute(context: ControlContext, verb: Verb, name: string): Route {
  const { control } = context;
  switch (verb) {
    case 'status':
      return new LaterRoute(failV2, async () => json(await control.cudaRegions(name)));
    case 'register':
      return bodyRoute(context, SMALL_BODY_BYTES_MAX, async (body) => {
        const region = cudaRegion(name, member(body, 'device_id'), member(body, 'byte_size'));
        await control.registerCudaRegion(region, rawHandle(member(body, 'raw_handle')));
        return NOTHING;
      });
    case 'unregister':
      return bodyRoute(context, SMALL_BODY_BYTES_MAX, async () => {
        await control.unregisterCudaRegion(name);
        return NOTHING;
      });
  }
}

/** The endpoint at a path; undefined if there is none. */
export function sharedMemoryEndpoint(context: ControlContext, path: string): Endpoint | undefined {
  const [, kind, region, verb] = URL.exec(path) ?? [];
  if (kind === undefined || (verb === 'register' && region === undefined)) return undefined;
  const name = decodedName(region ?? '');
  const route = kind === 'system' ? systemRoute : cudaRoute;
  const make = (): Route => route(context, verb as Verb, name);
  return verb === 'status'
    ? { call: SHARED_MEMORY, GET: make }
    : { call: SHARED_MEMORY_CHANGE, POST: make };
}
