// The package's entry `serval/client` in browsers: V2 over REST by fetch, without Node's modules.
// The page's main thread or a worker.
export { ClientError, type ClientErrorCode } from './core/errors.js';
export type * from './core/types.js';
export type * from './core/models.js';
export { V2ControlClient as V2Client } from './rest/v2-control.js';
