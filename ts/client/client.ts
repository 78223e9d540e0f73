// The package's entry `serval/client` in Node. Loads neither the server nor the addon. Any thread;
// browsers have browser.ts.
import type { AnyModels, ModelTypesByName } from './core/models.js';
import { V1RestClient } from './rest/v1.js';
import { V2ControlClient } from './rest/v2-control.js';
import { nodeSender, type NodeRestOptions } from './node/sender.js';

export { ClientError, type ClientErrorCode } from './core/errors.js';
export type * from './core/types.js';
export type * from './core/models.js';
export type * from './grpc/options.js';
export type { NodeRestOptions } from './node/sender.js';
export type * from './rest/v1.js';
export { GrpcClient } from './grpc/client.js';

/** V2 over REST, with Node's options for connections. */
export class V2Client<M extends ModelTypesByName<M> = AnyModels> extends V2ControlClient<M> {
  constructor(url: string, options: NodeRestOptions = {}) {
    super(url, options, nodeSender(options));
  }
}

/** TensorFlow Serving's REST API, with Node's options for connections. */
export class V1Client extends V1RestClient {
  constructor(url: string, options: NodeRestOptions = {}) {
    super(url, options, nodeSender(options));
  }
}
