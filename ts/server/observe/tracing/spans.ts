// Traced requests as OpenTelemetry spans: one for the request, with children for its stages, and
// one for a batch that several of them ran in, linked to them. Control plane, main thread; pure.
// Imports only types of OpenTelemetry.
import type { Attributes, HrTime, Link, SpanContext } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ERRORS, type ErrorCode } from '../../../base/errors.js';
import type { TraceRecord } from '../../../base/generated/engine.js';
import { parseTraceState } from './trace-state.js';

const INTERNAL = 0;
const SERVER = 1;
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;
const SAMPLED = 1;
const OK = 0;
const NS_PER_SECOND = 1_000_000_000;
/** Number of batches whose spans are remembered: records of one batch arrive close together. */
const BATCHES_KEPT = 1024;

/** Indexed by the engine's Protocol numbers; the names are the access log's. */
const PROTOCOLS: readonly string[] = [
  'v1-rest',
  'v2-rest',
  'v2-grpc',
  'v2-grpc-stream',
  'tf-grpc',
  'tf-grpc-classify',
  'tf-grpc-regress',
  'v1-rest-classify',
  'v1-rest-regress',
  'tf-grpc-multi-inference',
];

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function after([seconds, ns]: HrTime, more: number): HrTime {
  const sum = ns + more;
  return [seconds + Math.floor(sum / NS_PER_SECOND), sum % NS_PER_SECOND];
}

interface Part {
  readonly name: string;
  readonly kind: number;
  readonly context: SpanContext;
  readonly parent?: SpanContext;
  readonly start: HrTime;
  readonly ns: number;
  readonly attributes?: Attributes;
  readonly links?: Link[];
  readonly failed?: string;
}

export class SpanWriter {
  readonly #resource: Resource;
  readonly #scope: ReadableSpan['instrumentationScope'];
  /** Returns a new span id: 16 hexadecimal digits. */
  readonly #newId: () => string;
  readonly #batches = new Set<string>();

  constructor(resource: Resource, version: string, newId: () => string) {
    this.#resource = resource;
    this.#scope = { name: 'serval', version };
    this.#newId = newId;
  }

  /**
   * The spans of some requests. Requests of one batch that arrive together are linked by its span.
   */
  spans(records: readonly TraceRecord[]): ReadableSpan[] {
    return records.flatMap((record) => [
      ...this.#requestSpans(record),
      ...this.#batchSpan(record, records),
    ]);
  }

  #requestSpans(record: TraceRecord): ReadableSpan[] {
    const { model, loadWaitNs, queueNs, inputNs, inferNs, outputNs } = record;
    const context = contextOf(record);
    const start: HrTime = [record.startS, record.startNs];
    const code = ERRORS[record.code as ErrorCode].name;
    const root = this.#span({
      name: `infer ${model}`,
      kind: SERVER,
      context,
      ...(record.parentId.length > 0 && { parent: parentOf(record, context) }),
      start,
      ns: record.totalNs,
      attributes: requestAttributes(record, code),
      ...(record.code !== OK && { failed: code }),
    });
    const links = record.batchRequests > 0 ? [{ context: batchContext(record) }] : [];
    const spans = [root];
    let at = 0;
    // A stage that was not reached has no span: a request that failed to decode was not run.
    const child = (name: string, ns: number, more: Partial<Part> = {}): void => {
      if (ns > 0) {
        const own = { ...context, spanId: this.#newId() };
        const begin = after(start, at);
        spans.push(
          this.#span({
            name,
            kind: INTERNAL,
            context: own,
            parent: context,
            start: begin,
            ns,
            ...more,
          }),
        );
      }
      at += ns;
    };
    child('load', loadWaitNs);
    child('queue', Math.max(queueNs - loadWaitNs, 0));
    child('decode', inputNs);
    child('compute', inferNs, { links });
    child('encode', outputNs);
    return spans;
  }

  // The span of a batch, made once: a separate trace, since it has many parents. Linked to those of
  // its requests that are present.
  #batchSpan(record: TraceRecord, others: readonly TraceRecord[]): ReadableSpan[] {
    if (record.batchRequests === 0) return [];
    const context = batchContext(record);
    if (this.#batches.has(context.spanId)) return [];
    if (this.#batches.size >= BATCHES_KEPT) {
      for (const oldest of [...this.#batches].slice(0, BATCHES_KEPT / 2)) {
        this.#batches.delete(oldest);
      }
    }
    this.#batches.add(context.spanId);
    const together = others.filter((one) => hex(one.batchSpanId) === context.spanId);
    const start = after([record.startS, record.startNs], record.queueNs + record.inputNs);
    return [
      this.#span({
        name: `batch ${record.model}`,
        kind: INTERNAL,
        context,
        start,
        ns: record.inferNs,
        attributes: {
          'serval.model.name': record.model,
          'serval.model.version': record.version,
          'serval.batch.requests': record.batchRequests,
          'serval.batch.rows': record.batchRows,
        },
        links: together.map((one) => ({ context: contextOf(one) })),
      }),
    ];
  }

  #span(part: Part): ReadableSpan {
    const { name, kind, context, parent, start, ns, attributes = {}, links = [], failed } = part;
    return {
      name,
      kind,
      spanContext: () => context,
      ...(parent && { parentSpanContext: parent }),
      startTime: start,
      endTime: after(start, ns),
      duration: after([0, 0], ns),
      status:
        failed === undefined ? { code: STATUS_UNSET } : { code: STATUS_ERROR, message: failed },
      attributes,
      links,
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: this.#scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

function contextOf({ traceId, spanId, traceState }: TraceRecord): SpanContext {
  return {
    traceId: hex(traceId),
    spanId: hex(spanId),
    traceFlags: SAMPLED,
    ...(traceState !== '' && { traceState: parseTraceState(traceState) }),
  };
}

const parentOf = ({ parentId }: TraceRecord, context: SpanContext): SpanContext => ({
  ...context,
  spanId: hex(parentId),
  isRemote: true,
});

const batchContext = ({ batchTraceId, batchSpanId }: TraceRecord): SpanContext => ({
  traceId: hex(batchTraceId),
  spanId: hex(batchSpanId),
  traceFlags: SAMPLED,
});

function requestAttributes(record: TraceRecord, code: string): Attributes {
  return {
    'serval.model.name': record.model,
    'serval.model.version': record.version,
    'serval.protocol': PROTOCOLS[record.protocol] ?? String(record.protocol),
    'serval.rows': record.rows,
    'serval.request.bytes': record.requestBytes,
    'serval.response.bytes': record.responseBytes,
    ...(record.requestId !== '' && { 'serval.request.id': record.requestId }),
    ...(record.code !== OK && { 'error.type': code }),
    ...(record.batchRequests > 0 && {
      'serval.batch.requests': record.batchRequests,
      'serval.batch.rows': record.batchRows,
    }),
  };
}
