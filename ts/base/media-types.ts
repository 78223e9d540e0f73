// Media types of requests and responses, and the header that divides a binary body. Any plane, any
// thread; the console's page too.

export const JSON_TYPE = 'application/json';
/** A body in V2's binary form: JSON, then the raw bytes of tensors. */
export const BINARY_TYPE = 'application/octet-stream';
export const TEXT_TYPE = 'text/plain';
export const CSV_TYPE = 'text/csv';
/** Server-sent events. */
export const EVENTS_TYPE = 'text/event-stream; charset=utf-8';
export const GRPC_TYPE = 'application/grpc';

/** V2's header with the size of the JSON part of a body in binary form. */
export const JSON_LENGTH_HEADER = 'Inference-Header-Content-Length';
