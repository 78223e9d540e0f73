// Limits that both languages check, or whose values both need. The native side declares each one,
// because most of the checks are there; proto/generate.mjs writes TypeScript's constants from those
// declarations. Build time only.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `in`: the file in native/ that declares `constant`, which may be the default of a member. */
const ROWS = [
  {
    name: 'BODY_BYTES_MAX_DEFAULT',
    in: 'base/limits.h',
    constant: 'body_bytes_max',
    about: "Default of --body-bytes-max and --grpc-message-bytes-max: 2 GiB - 1, protobuf's own.",
  },
  {
    name: 'INFLATED_BYTES_MAX',
    in: 'base/limits.h',
    constant: 'inflated_bytes_max',
    about:
      "Decompressed size of a compressed REST body or gRPC message; TensorFlow Serving's own limit.",
  },
  {
    name: 'JSON_DEPTH_MAX_DEFAULT',
    in: 'base/limits.h',
    constant: 'json_depth_max',
    about: 'Default of --json-depth-max.',
  },
  {
    name: 'MODEL_NAME_BYTES_MAX',
    in: 'base/limits.h',
    constant: 'kNameBytesMax',
    about: "A model's name in UTF-8.",
  },
  {
    name: 'TENSOR_RANK_MAX',
    in: 'base/limits.h',
    constant: 'kRankMax',
    about: 'Maximum rank of a tensor, including the batch dim.',
  },
  {
    name: 'EXPRESSION_DEPTH_MAX',
    in: 'base/limits.h',
    constant: 'kExpressionDepthMax',
    about: "Nesting of calls in an expression of a tabular model's plan.",
  },
  {
    name: 'WIRE_GROUP_DEPTH_MAX',
    in: 'base/bytes/wire_reader.h',
    constant: 'kWireGroupDepthMax',
    about: "Nesting of protobuf's groups; protobuf's own decoders stop at the same depth.",
  },
  {
    name: 'WIRE_MESSAGE_BYTES_MAX',
    in: 'base/bytes/wire_writer.h',
    constant: 'kWireMessageBytesMax',
    about: "Protobuf's own limit for one message.",
  },
  {
    name: 'PINNED_POOL_BYTES_DEFAULT',
    in: 'gpu/pinned_pool.h',
    constant: 'kPinnedPoolBytes',
    about: "Pinned host memory for GPUs: Triton's default.",
  },
  {
    name: 'DECIMAL_PRECISION_MAX',
    in: 'tabular/sql/decimal.h',
    constant: 'kPrecisionMax',
    about: "Digits of a decimal: Spark's own limit.",
  },
  {
    name: 'MULTI_INFERENCE_TASKS_MAX',
    in: 'codec/examples/multi.h',
    constant: 'kTasksMax',
    about: 'Tasks of one MultiInferenceRequest.',
  },
  {
    name: 'PRIORITY_LEVELS_MAX',
    in: 'engine/control/spec/codec.h',
    constant: 'kPriorityLevelsMax',
    about: 'Priority levels of one queue.',
  },
  {
    name: 'RUNTIME_OPTION_CHARS_MAX',
    in: 'engine/control/spec/options.cc',
    constant: 'kValueBytesMax',
    about: "The value of one of the runtime's options; the engine counts bytes.",
  },
  {
    name: 'ACCEPTED_KEYS_MAX',
    in: 'calls/accepted_keys.h',
    constant: 'kAcceptedKeysMax',
    about:
      "Credentials that a thread caches as accepted for one kind of call (the engine's gRPC\n" +
      ' * listener: for all calls).',
  },
  {
    name: 'ACCEPTED_KEY_CHARS_MAX',
    in: 'calls/accepted_keys.h',
    constant: 'kAcceptedKeyBytesMax',
    about: 'Maximum length of a cached credential; longer ones are hashed each time.',
  },
  {
    name: 'LEARNED_ROUTES_MAX',
    in: 'calls/learned_routes.h',
    constant: 'kRoutesMax',
    about: 'Routes that one HTTP listener thread keeps.',
  },
  {
    name: 'ROUTE_PARTS',
    in: 'calls/route_generations.h',
    constant: 'kParts',
    about: 'Parts of what learned routes depend on; part 0 is the whole.',
  },
  {
    name: 'ECHOED_NAME_CHARS_MAX',
    in: 'calls/missing_words.cc',
    constant: 'kEchoedNameMax',
    about: "Characters of a client's text that an error quotes.",
  },
  {
    name: 'ECHOED_VERSION_BYTES_MAX',
    in: 'calls/missing_words.cc',
    constant: 'kEchoedVersionMax',
    about: 'Bytes of a non-numeric version that an error quotes.',
  },
  {
    name: 'STREAM_BACKLOG_MESSAGES_MAX',
    in: 'calls/infer_stream.cc',
    constant: 'kUnsentMax',
    about: 'Replies of one stream that may wait for the client before no more requests are read.',
  },
  {
    name: 'STREAM_BACKLOG_BYTES_MAX',
    in: 'calls/infer_stream.cc',
    constant: 'kUnsentBytesMax',
    about: 'Bytes of these replies.',
  },
  {
    name: 'STATUS_BYTES_MAX',
    in: 'transport/grpc/text.h',
    constant: 'kStatusBytesMax',
    about: "A gRPC status's text in UTF-8.",
  },
  {
    name: 'STATUS_ENCODED_BYTES_MAX',
    in: 'transport/grpc/text.h',
    constant: 'kStatusEncodedBytesMax',
    about: 'The same text percent-encoded in one trailer; clients accept 8 KiB of trailers.',
  },
  {
    name: 'ACCESS_NAME_CHARS_MAX',
    in: 'stats/access_log.cc',
    constant: 'kNameBytesShown',
    about: "A quoted path or name in a line of the access log; the engine's own lines count bytes.",
  },
  {
    name: 'ACCESS_REASON_CHARS_MAX',
    in: 'stats/access_log.cc',
    constant: 'kReasonBytesShown',
    about: "A refusal's reason in a line of the access log.",
  },
  {
    name: 'ACCESS_PROTOCOLS_MAX',
    in: 'stats/access_log.h',
    constant: 'kProtocolsMax',
    about: "Protocols in the access log's table of statuses.",
  },
  {
    name: 'ACCESS_CODES_MAX',
    in: 'stats/access_log.h',
    constant: 'kCodesMax',
    about: "Error codes in the access log's table of statuses.",
  },
  {
    name: 'BENCH_WAITING_MAX',
    in: 'load/measure/loop.cc',
    constant: 'kWaitingMax',
    about: "Requests of the bench's open loop that wait for a connection.",
  },
];

// Computes a constant expression of C++: integers with separators and suffixes, <<, *, +, -.
function valueOf(expression) {
  const plain = expression
    .replaceAll("'", '')
    .replace(/\b\w+\{(\d+)\}/g, '$1')
    .replace(/(\d)[uUlL]+\b/g, '$1')
    .trim();
  if (!/^[\d\s<*+()-]+$/.test(plain)) throw new Error(`not a constant of integers: ${expression}`);
  const value = Number(new Function(`return ${plain.replace(/\d+/g, '$&n')};`)());
  if (!Number.isSafeInteger(value)) throw new Error(`not a safe integer: ${expression}`);
  return value;
}

/** Returns the value of `constant` in the text of a C++ file; it is declared once. */
export function constantIn(text, constant) {
  const found = [...text.matchAll(new RegExp(`\\b${constant} = ([^;,]+)[;,]`, 'g'))];
  if (found.length !== 1) throw new Error(`${constant}: ${found.length} declarations`);
  return valueOf(found[0][1]);
}

/** Returns TypeScript's constants. `root`: the repository's folder. */
export function writeLimitsModule(root) {
  const rows = ROWS.map(({ name, in: path, constant, about }) => {
    const value = constantIn(readFileSync(join(root, 'native', path), 'utf8'), constant);
    return `/** ${about} Declared in native/${path}: ${constant}. */\nexport const ${name} = ${value};\n`;
  });
  return (
    '// Limits that the native side declares. Constants only; any thread. Generated from the rows of\n' +
    `// proto/limits.mjs by proto/generate.mjs.\n\n${rows.join('')}`
  );
}
