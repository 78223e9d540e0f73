// A trace collector in a separate process, and the spans that it received. Its messages are
// OpenTelemetry's own: otlp_collector.py. Test time only.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../../ts/base/package-files.js';
import { until } from '../support/polling.js';

const SCRIPT = join(packageRoot(), 'test', 'e2e', 'tracing', 'otlp_collector.py');

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string;
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface RawSpan {
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: string; readonly message?: string };
}
interface Line {
  readonly transport: 'http' | 'grpc';
  readonly problems: readonly string[];
  readonly request: {
    readonly resourceSpans?: readonly {
      readonly resource?: { readonly attributes?: readonly Attribute[] };
      readonly scopeSpans: readonly {
        readonly scope: { readonly name: string; readonly version?: string };
        readonly spans: readonly RawSpan[];
      }[];
    }[];
  };
}

export interface Link {
  readonly traceId: string;
  readonly spanId: string;
}

/** Ids in hexadecimal digits, "" = none. */
export interface Span extends Link {
  readonly name: string;
  readonly kind: string;
  readonly parentId: string;
  readonly traceState: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly Link[];
  readonly failed: string | undefined;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly transport: 'http' | 'grpc';
}

const hex = (base64 = ''): string => Buffer.from(base64, 'base64').toString('hex');

const valuesOf = (attributes: readonly Attribute[] = []): Span['attributes'] =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.intValue === undefined ? (value.stringValue ?? '') : Number(value.intValue),
    ]),
  );

function spansOf({ request, transport }: Line): Span[] {
  return (request.resourceSpans ?? []).flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) => {
      assert.equal(scope.name, 'serval');
      return spans.map((span) => ({
        name: span.name,
        kind: span.kind,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: hex(span.parentSpanId),
        traceState: span.traceState ?? '',
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: valuesOf(span.attributes),
        links: (span.links ?? []).map((link) => ({
          traceId: hex(link.traceId),
          spanId: hex(link.spanId),
        })),
        failed: span.status?.code === 'STATUS_CODE_ERROR' ? (span.status.message ?? '') : undefined,
        resource: valuesOf(resource?.attributes),
        transport,
      }));
    }),
  );
}

export class Collector {
  readonly #child: ChildProcess;
  readonly #spans: Span[] = [];
  #ports: { readonly http: number; readonly grpc: number } | undefined;
  #stderr = '';

  private constructor(python: string) {
    this.#child = spawn(python, [SCRIPT], {
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    if (this.#child.stdout === null) throw new TypeError('no output');
    createInterface({ input: this.#child.stdout }).on('line', (text) => {
      if (this.#ports === undefined) {
        this.#ports = JSON.parse(text) as { http: number; grpc: number };
        return;
      }
      const line = JSON.parse(text) as Line;
      if (line.problems.length > 0) this.problems.push(...line.problems);
      else this.#spans.push(...spansOf(line));
    });
  }

  /** Errors in the received data. */
  readonly problems: string[] = [];

  static async start(python: string): Promise<Collector> {
    const collector = new Collector(python);
    await until(
      'the collector listens',
      () => collector.#ports !== undefined,
      () => collector.#stderr,
      60_000,
    );
    return collector;
  }

  get http(): string {
    return `http://127.0.0.1:${this.#ports?.http}`;
  }

  get grpc(): string {
    return `grpc://127.0.0.1:${this.#ports?.grpc}`;
  }

  /** Resolves to at least `count` spans for which `which` is true, as soon as they have arrived. */
  async spans(count: number, which: (span: Span) => boolean): Promise<readonly Span[]> {
    const found = await until(
      `${count} spans`,
      () => {
        const some = this.#spans.filter(which);
        return some.length >= count || this.problems.length > 0 ? some : undefined;
      },
      () => JSON.stringify(this.#spans.map(({ name, traceId }) => [name, traceId])) + this.#stderr,
      30_000,
    );
    assert.deepEqual(this.problems, []);
    return found;
  }

  /** All received spans. */
  get all(): readonly Span[] {
    return this.#spans;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => {
      this.#child.once('close', resolve);
    });
    this.#child.stdin?.end();
    this.#child.kill('SIGKILL');
    await ended;
  }
}
