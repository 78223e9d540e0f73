// tensorflow.serving.SessionService.SessionRun: feeds and fetches by tensor names. Only signatures
// can be run, so a call succeeds if a signature has exactly the fed inputs and all fetched outputs:
// it becomes a PredictRequest that reuses the tensors' bytes. The gRPC listener's thread. Source:
// tensorflow/serving session_service.proto.
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import {
  SESSION_RUN_REQUEST,
  PREDICT_REQUEST,
  PREDICT_RESPONSE,
  SESSION_RUN_RESPONSE,
} from '../../protobuf/generated/tensorflow-serving-fields.js';
import { NAMED_TENSOR_PROTO, RUN_OPTIONS } from '../../protobuf/generated/tensorflow-fields.js';
import { DEFAULT_SIGNATURE } from '../../base/signatures.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { TF_PREDICT } from '../../model/request-kinds.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { writeModelSpec, type ModelSpecMessage } from '../../protobuf/serving-messages.js';
import type { WireReader } from '../../protobuf/reader.js';
import type { RegistrySnapshot, SignatureDefDoc, VersionSnapshot } from '../../model/snapshot.js';
import type { GrpcUnaryHandler } from '../../listeners/grpc/call.js';
import { callTimeoutUs, InferCall, statusOfThrown } from '../grpc/unary.js';
import { afterLoad, seenVersion, unlessUnseen } from '../needs-load.js';
import { echoed } from '../request-text.js';
import { findServable, signatureDocs } from './documents.js';
import {
  messageBuffer,
  readRequest,
  requestReader,
  requireSpec,
  explainingStatus,
  type ServingOptions,
} from './grpc-spec.js';

const MILLISECOND_US = 1000;

interface SessionRun {
  readonly spec: ModelSpecMessage;
  /** Tensor name (or alias) -> TensorProto. */
  readonly feeds: ReadonlyMap<string, Uint8Array>;
  /** Names as sent; a name may occur twice. */
  readonly fetches: readonly string[];
  readonly byAlias: boolean;
  /** 0 = none. */
  readonly timeoutMs: number;
}

interface NamedTensor {
  readonly name: string;
  readonly tensor: Uint8Array;
}

function readNamedTensor(reader: WireReader): NamedTensor {
  let name = '';
  const tensors: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === NAMED_TENSOR_PROTO.name) name = reader.string();
    else if (reader.field === NAMED_TENSOR_PROTO.tensor) tensors.push(reader.view());
    else reader.skip();
  }
  const [only] = tensors;
  const isOne = tensors.length === 1 && only !== undefined;
  return { name, tensor: isOne ? only : Buffer.concat(tensors) };
}

function readTimeoutMs(reader: WireReader): number {
  let timeoutMs = 0;
  while (reader.next()) {
    if (reader.field === RUN_OPTIONS.timeoutInMs) timeoutMs = Math.max(0, Number(reader.int64()));
    else reader.skip();
  }
  return timeoutMs;
}

/** "x" and "x:0" are one tensor. */
function tensorName(name: string): string {
  return name.endsWith(':0') ? name.slice(0, -2) : name;
}

function readSessionRun(message: Buffer): SessionRun {
  const feeds = new Map<string, Uint8Array>();
  const fetches: string[] = [];
  const fed: NamedTensor[] = [];
  let byAlias = false;
  let timeoutMs = 0;
  let target: string | undefined;
  const spec = readRequest(message, 'SessionRunRequest', (reader) => {
    if (reader.field === SESSION_RUN_REQUEST.feed)
      fed.push(readNamedTensor(reader.nested('NamedTensorProto')));
    else if (reader.field === SESSION_RUN_REQUEST.fetch) fetches.push(reader.string());
    else if (reader.field === SESSION_RUN_REQUEST.target) target = reader.string();
    else if (reader.field === SESSION_RUN_REQUEST.options)
      timeoutMs = readTimeoutMs(reader.nested('RunOptions'));
    else if (reader.field === SESSION_RUN_REQUEST.tensorNameIsAlias)
      byAlias = reader.int64() !== 0n;
    else reader.skip();
  });
  for (const { name, tensor } of fed) {
    const key = byAlias ? name : tensorName(name);
    if (feeds.has(key)) {
      throw new ServalError(
        ErrorCode.InvalidArgument,
        `feed: expected each tensor once, got ${echoed(name)} twice`,
      );
    }
    feeds.set(key, tensor);
  }
  if (target !== undefined) {
    throw new ServalError(
      ErrorCode.Unimplemented,
      `target: operations cannot be run by name, got ${echoed(target)}; expected only fetches`,
    );
  }
  if (fetches.length === 0) {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      'Must specify at least one target to fetch or execute.',
    );
  }
  return { spec: requireSpec(spec), feeds, fetches, byAlias, timeoutMs };
}

interface Match {
  readonly signature: string;
  /** Alias -> TensorProto. */
  readonly inputs: readonly (readonly [string, Uint8Array])[];
  /** The alias of each fetch. */
  readonly outputs: readonly string[];
}

/** undefined if this signature does not match the call. */
function matched(
  [signature, doc]: readonly [string, SignatureDefDoc],
  run: SessionRun,
): Match | undefined {
  const keyOf = ([alias, { name }]: SignatureDefDoc['inputs'][number]): string | undefined =>
    run.byAlias ? alias : name && tensorName(name);
  const inputs: (readonly [string, Uint8Array])[] = [];
  const used = new Set<string>();
  for (const input of doc.inputs) {
    const key = keyOf(input);
    const tensor = key === undefined ? undefined : run.feeds.get(key);
    if (key === undefined || tensor === undefined) return undefined;
    used.add(key);
    inputs.push([input[0], tensor]);
  }
  if (used.size < run.feeds.size) return undefined;
  const aliases = new Map(doc.outputs.map((output) => [keyOf(output), output[0]]));
  const outputs: string[] = [];
  for (const fetch of run.fetches) {
    const alias = aliases.get(run.byAlias ? fetch : tensorName(fetch));
    if (alias === undefined) return undefined;
    outputs.push(alias);
  }
  return { signature, inputs, outputs };
}

/**
 * The signature that the request names or, if it names none, serving_default, else the first that
 * matches. Errors: InvalidArgument; Unimplemented.
 */
function findMatch(version: VersionSnapshot, run: SessionRun): Match {
  const served = new Set(version.signatures.map((one) => one.name));
  const docs = signatureDocs(version).filter(([name]) => served.has(name));
  const { signature } = run.spec;
  if (signature !== '' && !served.has(signature)) {
    throw new ServalError(
      ErrorCode.SignatureNotFound,
      `Serving signature key "${echoed(signature)}" not found.`,
    );
  }
  const candidates =
    signature === ''
      ? [...docs].sort(
          ([a], [b]) => Number(b === DEFAULT_SIGNATURE) - Number(a === DEFAULT_SIGNATURE),
        )
      : docs.filter(([name]) => name === signature);
  for (const candidate of candidates) {
    const match = matched(candidate, run);
    if (match !== undefined) return match;
  }
  const shown = (names: Iterable<string>): string => echoed([...names].join(', '));
  const asked =
    `the feeds [${shown(run.feeds.keys())}] and returns the fetches ` + `[${shown(run.fetches)}]`;
  throw new ServalError(
    ErrorCode.Unimplemented,
    'SessionRun runs signatures only, and no ' +
      `signature of model '${echoed(run.spec.name)}' accepts exactly ${asked}`,
  );
}

function predictRequest(run: SessionRun, version: VersionSnapshot, match: Match): Buffer {
  const writer = new ProtobufWriter();
  writer.message(PREDICT_REQUEST.modelSpec, (spec) =>
    writeModelSpec(spec, run.spec.name, version.version, match.signature),
  );
  for (const [alias, tensor] of match.inputs) {
    writer.message(PREDICT_REQUEST.inputs, (entry) =>
      entry.string(MAP_ENTRY.key, alias).bytes(MAP_ENTRY.value, tensor),
    );
  }
  for (const alias of new Set(match.outputs)) writer.string(PREDICT_REQUEST.outputFilter, alias);
  return messageBuffer(writer);
}

/** Converts a PredictResponse to a SessionRunResponse. */
function sessionResponse(run: SessionRun, match: Match, response: Buffer): Buffer {
  const outputs = new Map<string, Uint8Array>();
  let spec: Uint8Array = new Uint8Array();
  const reader = requestReader(response, 'PredictResponse');
  while (reader.next()) {
    if (reader.field === PREDICT_RESPONSE.outputs) {
      const { name, tensor } = readNamedTensor(reader.nested('OutputsEntry'));
      outputs.set(name, tensor);
    } else if (reader.field === PREDICT_RESPONSE.modelSpec) {
      spec = reader.view();
    } else {
      reader.skip();
    }
  }
  const writer = new ProtobufWriter();
  run.fetches.forEach((fetch, at) => {
    const tensor = outputs.get(match.outputs[at] ?? '') ?? new Uint8Array();
    writer.message(SESSION_RUN_RESPONSE.tensor, (entry) =>
      entry.string(NAMED_TENSOR_PROTO.name, fetch).bytes(NAMED_TENSOR_PROTO.tensor, tensor),
    );
  });
  writer.bytes(SESSION_RUN_RESPONSE.modelSpec, spec);
  return messageBuffer(writer);
}

/** The earlier of two limits; 0 = none. */
function earlier(a: number, b: number): number {
  if (a === 0 || b === 0) return a + b;
  return Math.min(a, b);
}

export function sessionRun({ snapshot, infer, control }: ServingOptions): GrpcUnaryHandler {
  const explained = explainingStatus(snapshot);
  return (call, reply) => {
    const submit = (run: SessionRun, version: VersionSnapshot): void => {
      const match = findMatch(version, run);
      const leftUs = earlier(callTimeoutUs(call), run.timeoutMs * MILLISECOND_US);
      const target = new InferCall(call, reply, explained, (response) =>
        sessionResponse(run, match, response),
      );
      target.infer(infer, predictRequest(run, version, match), TF_PREDICT, leftUs);
    };
    const failed = (error: unknown): void => reply(statusOfThrown(error, explained));
    try {
      const run = readSessionRun(call.request);
      const find = (now: RegistrySnapshot): VersionSnapshot =>
        seenVersion(run.spec.name, findServable(now, run.spec));
      const version = unlessUnseen(() => find(snapshot()));
      if (version !== undefined) return submit(run, version);
      afterLoad(control, snapshot(), find)
        .then((loaded) => submit(run, loaded))
        .catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
