// OpenTelemetry's exporters, over HTTP and gRPC, as the transport of an OtlpSink. Control plane,
// main thread. In a separate file beside the bundle, loaded when tracing is first enabled: it
// brings OpenTelemetry's packages, and grpc-js if gRPC is used.
import { randomBytes } from 'node:crypto';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { OtlpSettings } from '../../../config/observation/tracing.js';
import type { SpanExport } from './otlp-sink.js';
import { SpanWriter } from './spans.js';

/** Common interface of both exporters. */
interface Exporter {
  export(spans: ReadableSpan[], done: (result: { code: number; error?: Error }) => void): void;
  shutdown(): Promise<void>;
}

const SUCCESS = 0;
const SPAN_ID_BYTES = 8;

// A bundled CommonJS package has all its names in its default export.
const named = <T extends object>(module: T): T => (module as { default?: T }).default ?? module;

async function exporterOf({ url, protocol }: OtlpSettings): Promise<Exporter> {
  if (protocol === 'grpc') {
    const { OTLPTraceExporter } = named(await import('@opentelemetry/exporter-trace-otlp-grpc'));
    return new OTLPTraceExporter({ url });
  }
  const { OTLPTraceExporter } = named(await import('@opentelemetry/exporter-trace-otlp-proto'));
  return new OTLPTraceExporter({ url });
}

/** `version`: the server's. */
export async function otlpExporter(settings: OtlpSettings, version: string): Promise<SpanExport> {
  const exporter = await exporterOf(settings);
  const resource = resourceFromAttributes({
    'service.name': 'serval',
    'service.version': version,
    ...environmentAttributes(process.env),
    ...settings.resource,
  });
  const newId = (): string => randomBytes(SPAN_ID_BYTES).toString('hex');
  const writer = new SpanWriter(resource, version, newId);
  return {
    send: (records) =>
      new Promise((resolve, reject) => {
        exporter.export(writer.spans(records), ({ code, error }) => {
          if (code === SUCCESS) resolve();
          else reject(error ?? new Error('the collector refused the spans'));
        });
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** Source: OpenTelemetry, "Resource SDK": OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME. */
export function environmentAttributes(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const pair of (environment['OTEL_RESOURCE_ATTRIBUTES'] ?? '').split(',')) {
    const equals = pair.indexOf('=');
    if (equals > 0) attributes[pair.slice(0, equals).trim()] = decoded(pair.slice(equals + 1));
  }
  const name = environment['OTEL_SERVICE_NAME'] ?? '';
  if (name !== '') attributes['service.name'] = name;
  return attributes;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    return text.trim();
  }
}
