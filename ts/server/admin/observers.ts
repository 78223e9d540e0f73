// Observers of the server: the metrics port and the access log. Control plane, main thread; started
// by ts/server/server.ts.
import { METRICS } from '../../access/groups.js';
import { HostCheck } from '../../listeners/http/access/own-page.js';
import {
  callAccess,
  judgeCaller,
  type CallAccess,
  type Caller,
  type Policy,
  type Refusal,
} from '../../access/policy.js';
import { GrpcCode, reasonOf } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import type { Logger } from '../../base/logger.js';
import type { Engine } from '../../engine/engine.js';
import { LinkReadings } from '../../protocols/engine-readings.js';
import type { Registry } from '../../models/registry/registry.js';
import { limitedSnapshot } from '../../models/registry/snapshot-build.js';

export interface Observers {
  /** undefined if metrics have no dedicated port. */
  readonly metricsPort: number | undefined;
  /** Writes what is buffered and closes. */
  close(): Promise<void>;
}

export interface Observed {
  readonly engine: Engine;
  readonly registry: Registry;
  readonly access: { readonly policy: Policy };
}

const accessTo = (policy: Policy): CallAccess =>
  callAccess({ ...policy, hasAdmin: false }, METRICS, 'http');

/** Errors: InvalidArgument: the port is in use, or the file cannot be opened. */
export async function startObservers(
  config: Config,
  { engine, registry, access }: Observed,
  logger: Logger,
): Promise<Observers> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(closers.map((one) => one()));
  };
  let metricsPort: number | undefined;
  try {
    const { metrics, accessLog } = config;
    if (metrics.allowed && metrics.port >= 0) {
      const { startMetricsServer } = await import('../observe/metrics/metrics-server.js');
      const { limitedMetrics } = await import('../observe/metrics/limited-metrics.js');
      const { metricsText } = await import('../observe/metrics/metrics-route.js');
      const readings = new LinkReadings(engine.link);
      // A dedicated metrics port is an explicit request, so the admin address does not replace it.
      const { host, port } = metrics;
      const hosts = HostCheck.of(host, config.access.allowedHosts);
      const report = (error: unknown): void =>
        logger.error('the metrics port failed', { reason: reasonOf(error) });
      const refusal = (caller: Caller): Refusal | undefined => {
        const { policy } = access;
        const problem = policy.keys === undefined ? hosts?.problem(caller) : undefined;
        if (problem !== undefined)
          return { http: 403, grpc: GrpcCode.PERMISSION_DENIED, message: problem };
        const judged = judgeCaller(accessTo(policy), caller);
        return typeof judged === 'number' ? undefined : judged;
      };
      const text = async (caller: Caller): Promise<string | Buffer> => {
        const { policy } = access;
        const judged = judgeCaller(accessTo(policy), caller);
        const key = policy.keys?.find((one) => one.caller === judged);
        const { snapshot } = registry;
        if (key?.models === undefined) return metricsText(readings, snapshot);
        const all = await metricsText(readings, limitedSnapshot(snapshot, key.models));
        return limitedMetrics(all.toString('utf8'), key.models, key.name);
      };
      const server = await startMetricsServer({
        host,
        port,
        text,
        refusal,
        link: engine.link,
        report,
      });
      metricsPort = server.port;
      closers.push(() => server.close());
    }
    if (accessLog !== undefined) {
      const { AccessLog, wireStatuses } = await import('../observe/metrics/access-log.js');
      const take = (): Buffer => engine.link.read((native) => native.takeAccessLog());
      const log = await AccessLog.start({ path: accessLog, take, logger });
      const { oneIn, errorsOnly, reasons } = config.accessLogSettings;
      engine.link.native.setAccessLog(oneIn, errorsOnly, reasons, wireStatuses());
      closers.push(() => log.close());
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { metricsPort, close };
}
