// Metrics over HTTP: Triton's and Serval's at /metrics, TensorFlow Serving's at the path that its
// monitoring file names. Documents only; the listener's thread. Source: v2-protocol.md 4,
// tfserving.md 3.7; docs/reference/protocols/v2-rest.md.
import { JSON_TYPE, TEXT_TYPE } from '../../../base/media-types.js';
import { METRICS } from '../../../access/groups.js';
import { ERRORS, ErrorCode, ServalError } from '../../../base/errors.js';
import { METRICS_TYPE, registryMetrics } from './registry-metrics.js';
import { TENSORFLOW_METRICS, TRITON_METRICS } from '../../../engine/link.js';
import type { RegistrySnapshot } from '../../../model/snapshot.js';
import {
  ofCall,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../../listeners/http/listener.js';
import { LaterRoute, type Answer } from '../../../protocols/rest/body-route.js';
import type { EngineReadings } from '../../../protocols/engine-readings.js';
import { DocumentRoute, errorBody } from '../../../protocols/rest/infer.js';

const METRICS_PATH = '/metrics';

export interface MetricsContext {
  readonly readings: EngineReadings;
  /** false: metrics are disabled on every path. */
  readonly metricsAllowed: boolean;
  /** Path of TensorFlow Serving's metrics; "" = disabled. Takes precedence if it is /metrics. */
  readonly monitoringPath: string;
}

function fail(exchange: HttpExchange, code: ErrorCode, message: string): void {
  exchange.note(code);
  exchange.send(ERRORS[code].v2Http, JSON_TYPE, errorBody(message));
}

function wrongMethod(method: string): Route {
  return new DocumentRoute((_head, exchange) => {
    const text = `method ${method.slice(0, 32)} is not allowed here, expected GET`;
    exchange.send(ERRORS[ErrorCode.MethodNotAllowed].v2Http, JSON_TYPE, errorBody(text), [
      'Allow',
      'GET',
    ]);
  });
}

async function tensorflowText(readings: EngineReadings, head: RequestHead): Promise<Answer> {
  const query = head.query();
  if (query !== '') {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `Malformed request: GET ${head.path()}?${query.slice(0, 256)}`,
    );
  }
  return { contentType: TEXT_TYPE, body: await readings.metrics(TENSORFLOW_METRICS) };
}

/** The whole text of /metrics: the engine's counters, then the registry's metrics. */
export async function metricsText(
  readings: EngineReadings,
  snapshot: RegistrySnapshot,
): Promise<Buffer> {
  const native = await readings.metrics(TRITON_METRICS);
  return Buffer.concat([native, Buffer.from(registryMetrics(snapshot), 'utf8')]);
}

/** The route of a metrics path; undefined if the path is not one (or metrics are disabled). */
export function metricsRoute(
  context: MetricsContext,
  snapshot: RegistrySnapshot,
  method: string,
  path: string,
): Route | undefined {
  const { readings, monitoringPath } = context;
  if (!context.metricsAllowed || (path !== monitoringPath && path !== METRICS_PATH)) {
    return undefined;
  }
  if (method !== 'GET') return ofCall(METRICS, wrongMethod(method));
  const route = new LaterRoute(fail, async (head) => {
    if (path === monitoringPath) return tensorflowText(readings, head);
    return { contentType: METRICS_TYPE, body: await metricsText(readings, snapshot) };
  });
  return ofCall(METRICS, route);
}
