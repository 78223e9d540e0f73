// The request log: which models are logged where, by the flags and by models.config; fetches the
// engine's copies of requests and passes them to the logs. Control plane, main thread; one for each
// process. Source: tfserving.md 3.8 (logging_config).
import { dirname, join, resolve } from 'node:path';
import { REQUEST_LOG_TAKE_MS } from '../../../base/limits.js';
import type { Logger } from '../../../base/logger.js';
import type { LoggedRequest } from '../../../base/generated/engine.js';
import type { ModelEntry } from '../../../models/config/types.js';
import { WARMUP_RECORDS_MAX } from '../../../models/warmup/tf-record.js';
import type { LinkRequestLog, LogCounts } from '../../../engine/request-log.js';
import { jsonForm } from './json-line.js';
import { LogSink, type FormOf, type Logged, type SinkCounts } from './log-sink.js';
import { predictionLog, type LoggedForm } from './prediction-log.js';
import type { RequestLogSettings } from '../../../config/observation/request-log-settings.js';
import { tfRecord } from './tf-record.js';

const MB = 1_000_000;
const TFRECORD = '.tfrecord';
const JSON_LINES = '.jsonl';
/** Name of the file that all models share. */
const SHARED_NAME = 'requests';

/** Initial value of Tap.passed: the first request goes to every log. */
const FIRST = 1 - 1e-9;

export interface RequestLogOptions {
  readonly engine: Pick<LinkRequestLog, 'take' | 'setRates'>;
  readonly settings: RequestLogSettings;
  readonly logger: Logger;
  readonly takeEveryMs?: number;
}

/** A log that receives a share of a model's requests. */
interface Tap {
  readonly rate: number;
  readonly sink: LogSink;
  readonly form: FormOf;
  /** Grows by this log's share of the requests that the engine logs. */
  passed: number;
}

const tfRecordForm =
  (samplingRate: number): FormOf =>
  (request): LoggedForm => {
    const form = predictionLog(request, samplingRate);
    return form.kind === 'record' ? { kind: 'record', bytes: tfRecord(form.bytes) } : form;
  };

/** A model's name as the beginning of a file name. */
export function fileNameOf(model: string): string {
  const safe = encodeURIComponent(model).replace(/^\./, '%2E');
  return safe.length <= 150 ? safe : `${safe.slice(0, 150)}~`;
}

export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #onHangup: () => void;
  #timer: NodeJS.Timeout | undefined;
  #entries: readonly ModelEntry[] = [];
  /** By file prefix. */
  #sinks = new Map<string, LogSink>();
  /** By model; created at its first request. */
  #taps = new Map<string, readonly Tap[]>();
  /** The fetch and write in progress; the engine holds requests meanwhile. */
  #working: Promise<void> | undefined;
  #reopenWanted = false;
  #droppedTold = false;

  constructor(options: RequestLogOptions) {
    this.#options = options;
    this.#onHangup = (): void => {
      this.#reopenWanted = true;
    };
    this.configure([]);
  }

  /** Applies the current models.config in addition to the flags. */
  configure(entries: readonly ModelEntry[]): void {
    const { engine, settings } = this.#options;
    this.#entries = entries.filter(({ logging }) => (logging?.samplingRate ?? 0) > 0);
    const shared = settings.folder === undefined ? 0 : settings.sampling;
    if (shared === 0 && this.#entries.length === 0 && this.#timer === undefined) return;
    this.#taps = new Map();
    const rates = this.#entries.map(({ name, logging }) => ({
      model: name,
      rate: Math.max(shared, logging?.samplingRate ?? 0),
      tensorflow: true,
    }));
    engine.setRates([
      { model: '', rate: shared, tensorflow: settings.format === 'tfrecord' },
      ...rates,
    ]);
    if (this.#timer === undefined) this.#begin();
  }

  /**
   * Writes the requests that the engine holds now. Settles when they are written or the write
   * failed; never rejects.
   */
  async flush(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
    this.#working = this.#work().finally(() => {
      this.#working = undefined;
    });
    await this.#working;
  }

  /** Writes what is buffered. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    process.removeListener('SIGHUP', this.#onHangup);
    if (this.#timer !== undefined) await this.flush();
  }

  #begin(): void {
    const { takeEveryMs = REQUEST_LOG_TAKE_MS } = this.#options;
    process.on('SIGHUP', this.#onHangup);
    this.#timer = setInterval(() => {
      if (this.#working === undefined) void this.flush();
    }, takeEveryMs).unref();
  }

  async #work(): Promise<void> {
    const { engine, logger } = this.#options;
    try {
      for (let more = true; more; ) {
        if (this.#reopenWanted) for (const sink of this.#sinks.values()) sink.endFile();
        this.#reopenWanted = false;
        const batch = await engine.take(this.#counts());
        more = batch.more;
        this.#tellDropped(batch.dropped);
        await this.#write(batch.requests);
      }
      this.#forgetUnused();
    } catch (error) {
      logger.error('failed to read the request log from the engine', { reason: String(error) });
    }
  }

  async #write(requests: readonly LoggedRequest[]): Promise<void> {
    const bySink = new Map<LogSink, Logged[]>();
    for (const request of requests) {
      const taps = this.#tapsOf(request.model);
      const most = Math.max(...taps.map((tap) => tap.rate));
      for (const tap of taps) {
        // The engine logs at the highest rate of all logs.
        tap.passed += tap.rate / most;
        if (tap.passed < 1) continue;
        tap.passed -= 1;
        const its = bySink.get(tap.sink) ?? [];
        its.push({ request, form: tap.form });
        bySink.set(tap.sink, its);
      }
    }
    for (const [sink, its] of bySink) await sink.log(its);
  }

  #tapsOf(model: string): readonly Tap[] {
    const known = this.#taps.get(model);
    if (known !== undefined) return known;
    const { folder, format, values, sampling: rate } = this.#options.settings;
    const logging = this.#entries.find((one) => one.name === model)?.logging;
    const taps: Tap[] = [];
    if (logging !== undefined) {
      const { filenamePrefix, samplingRate: rate } = logging;
      const sink = this.#sink(filenamePrefix, TFRECORD);
      taps.push({ rate, sink, form: tfRecordForm(rate), passed: FIRST });
    }
    if (folder !== undefined && rate > 0) {
      const isTfRecord = format === 'tfrecord';
      const name = isTfRecord ? fileNameOf(model) : SHARED_NAME;
      const sink = this.#sink(join(folder, name), isTfRecord ? TFRECORD : JSON_LINES);
      const form = isTfRecord ? tfRecordForm(rate) : jsonForm(format === 'raw', values);
      taps.push({ rate, sink, form, passed: FIRST });
    }
    this.#taps.set(model, taps);
    return taps;
  }

  /**
   * Two models with one prefix share its files, as they share a collector in TensorFlow Serving.
   */
  #sink(prefix: string, suffix: string): LogSink {
    const key = `${prefix}${suffix}`;
    const known = this.#sinks.get(key);
    if (known !== undefined) return known;
    const { settings, logger } = this.#options;
    const { folder, fileMb, filesMax } = settings;
    const recordsMax = suffix === TFRECORD ? WARMUP_RECORDS_MAX : Number.POSITIVE_INFINITY;
    const makesFolder = dirname(prefix) === folder;
    const bytesMax = fileMb * MB;
    const within = folder !== undefined && resolve(prefix).startsWith(`${folder}/`) ? folder : '';
    const files = { prefix, suffix, bytesMax, recordsMax, filesMax, makesFolder, within };
    const sink = new LogSink({ files, logger });
    this.#sinks.set(key, sink);
    return sink;
  }

  #counts(): LogCounts {
    const sinks = [...this.#sinks.values()];
    const counts = sinks.map((sink) => sink.takeCounts());
    const sum = (of: (one: SinkCounts) => number): number =>
      counts.reduce((total, one) => total + of(one), 0);
    return {
      written: sum((one) => one.written),
      unwritten: sum((one) => one.unwritten),
      formless: sum((one) => one.formless),
      stopped: sinks.filter((sink) => sink.isStopped).length,
    };
  }

  // Logged once until nothing is dropped: drops happen under load, when there is enough to log.
  #tellDropped(dropped: number): void {
    if (dropped === 0) {
      this.#droppedTold = false;
    } else if (!this.#droppedTold) {
      this.#droppedTold = true;
      const { logger } = this.#options;
      logger.warn('requests were not logged: the memory for the request log is full', { dropped });
    }
  }

  /** Removes logs that models.config no longer has, once nothing is left for them. */
  #forgetUnused(): void {
    const { folder } = this.#options.settings;
    const used = new Set(
      this.#entries.map(({ logging }) => `${logging?.filenamePrefix}${TFRECORD}`),
    );
    for (const key of this.#sinks.keys()) {
      const isShared = folder !== undefined && dirname(key) === folder;
      if (!used.has(key) && !isShared) this.#sinks.delete(key);
    }
  }
}
