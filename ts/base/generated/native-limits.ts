// Limits that the native side declares. Constants only; any thread. Generated from the rows of
// proto/limits.mjs by proto/generate.mjs.

/** Default of --body-bytes-max and --grpc-message-bytes-max: 2 GiB - 1, protobuf's own. Declared in native/base/limits.h: body_bytes_max. */
export const BODY_BYTES_MAX_DEFAULT = 2147483647;
/** Decompressed size of a compressed REST body or gRPC message; TensorFlow Serving's own limit. Declared in native/base/limits.h: inflated_bytes_max. */
export const INFLATED_BYTES_MAX = 104857600;
/** Default of --json-depth-max. Declared in native/base/limits.h: json_depth_max. */
export const JSON_DEPTH_MAX_DEFAULT = 512;
/** A model's name in UTF-8. Declared in native/base/limits.h: kNameBytesMax. */
export const MODEL_NAME_BYTES_MAX = 4096;
/** Maximum rank of a tensor, including the batch dim. Declared in native/base/limits.h: kRankMax. */
export const TENSOR_RANK_MAX = 32;
/** Nesting of calls in an expression of a tabular model's plan. Declared in native/base/limits.h: kExpressionDepthMax. */
export const EXPRESSION_DEPTH_MAX = 200;
/** Nesting of protobuf's groups; protobuf's own decoders stop at the same depth. Declared in native/base/bytes/wire_reader.h: kWireGroupDepthMax. */
export const WIRE_GROUP_DEPTH_MAX = 100;
/** Protobuf's own limit for one message. Declared in native/base/bytes/wire_writer.h: kWireMessageBytesMax. */
export const WIRE_MESSAGE_BYTES_MAX = 2147483647;
/** Pinned host memory for GPUs: Triton's default. Declared in native/gpu/pinned_pool.h: kPinnedPoolBytes. */
export const PINNED_POOL_BYTES_DEFAULT = 268435456;
/** Digits of a decimal: Spark's own limit. Declared in native/tabular/sql/decimal.h: kPrecisionMax. */
export const DECIMAL_PRECISION_MAX = 38;
/** Tasks of one MultiInferenceRequest. Declared in native/codec/examples/multi.h: kTasksMax. */
export const MULTI_INFERENCE_TASKS_MAX = 1024;
/** Priority levels of one queue. Declared in native/engine/control/spec/codec.h: kPriorityLevelsMax. */
export const PRIORITY_LEVELS_MAX = 1024;
/** The value of one of the runtime's options; the engine counts bytes. Declared in native/engine/control/spec/options.cc: kValueBytesMax. */
export const RUNTIME_OPTION_CHARS_MAX = 65536;
/** Credentials that a thread caches as accepted for one kind of call (the engine's gRPC
 * listener: for all calls). Declared in native/calls/accepted_keys.h: kAcceptedKeysMax. */
export const ACCEPTED_KEYS_MAX = 128;
/** Maximum length of a cached credential; longer ones are hashed each time. Declared in native/calls/accepted_keys.h: kAcceptedKeyBytesMax. */
export const ACCEPTED_KEY_CHARS_MAX = 256;
/** Routes that one HTTP listener thread keeps. Declared in native/calls/learned_routes.h: kRoutesMax. */
export const LEARNED_ROUTES_MAX = 65536;
/** Parts of what learned routes depend on; part 0 is the whole. Declared in native/calls/route_generations.h: kParts. */
export const ROUTE_PARTS = 1024;
/** Characters of a client's text that an error quotes. Declared in native/calls/missing_words.cc: kEchoedNameMax. */
export const ECHOED_NAME_CHARS_MAX = 256;
/** Bytes of a non-numeric version that an error quotes. Declared in native/calls/missing_words.cc: kEchoedVersionMax. */
export const ECHOED_VERSION_BYTES_MAX = 64;
/** Replies of one stream that may wait for the client before no more requests are read. Declared in native/calls/infer_stream.cc: kUnsentMax. */
export const STREAM_BACKLOG_MESSAGES_MAX = 64;
/** Bytes of these replies. Declared in native/calls/infer_stream.cc: kUnsentBytesMax. */
export const STREAM_BACKLOG_BYTES_MAX = 8388608;
/** A gRPC status's text in UTF-8. Declared in native/transport/grpc/text.h: kStatusBytesMax. */
export const STATUS_BYTES_MAX = 4096;
/** The same text percent-encoded in one trailer; clients accept 8 KiB of trailers. Declared in native/transport/grpc/text.h: kStatusEncodedBytesMax. */
export const STATUS_ENCODED_BYTES_MAX = 6144;
/** A quoted path or name in a line of the access log; the engine's own lines count bytes. Declared in native/stats/access_log.cc: kNameBytesShown. */
export const ACCESS_NAME_CHARS_MAX = 256;
/** A refusal's reason in a line of the access log. Declared in native/stats/access_log.cc: kReasonBytesShown. */
export const ACCESS_REASON_CHARS_MAX = 1024;
/** Protocols in the access log's table of statuses. Declared in native/stats/access_log.h: kProtocolsMax. */
export const ACCESS_PROTOCOLS_MAX = 16;
/** Error codes in the access log's table of statuses. Declared in native/stats/access_log.h: kCodesMax. */
export const ACCESS_CODES_MAX = 32;
/** Requests of the bench's open loop that wait for a connection. Declared in native/load/measure/loop.cc: kWaitingMax. */
export const BENCH_WAITING_MAX = 1048576;
