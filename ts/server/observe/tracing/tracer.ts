// Traces of requests: the rules are set here, and the engine decides which requests to trace; its
// records are fetched ten times a second and sent to a collector or a file. Control plane, main
// thread: one per process, created when tracing is first used.
import type { TraceConfig } from '../../../config/observation/tracing.js';
import type { Logger } from '../../../base/logger.js';
import type { TraceRule, TraceTake } from '../../../base/generated/engine.js';
import { readTraces, writeTraceRules } from '../../../engine/flat.js';
import type { EngineLink } from '../../../engine/link.js';
import { TraceSettings, type TraceAnswer } from './settings.js';
import type { TraceSink } from './sink.js';

const TAKE_EVERY_MS = 100;

export interface TracerOptions {
  readonly config: TraceConfig;
  readonly link: Pick<EngineLink, 'run' | 'read'>;
  /** One word that listeners read: 1 if callers' trace context is used. */
  readonly word: SharedArrayBuffer;
  readonly logger: Logger;
  /** Creates the sink when the first trace is written. */
  readonly openSink: (frequencyOf: (model: string) => FileGroup) => Promise<TraceSink>;
}

/** Models whose traces share a file. */
export interface FileGroup {
  readonly key: string;
  /** How many traces a file has; 0 = all. */
  readonly tracesMax: number;
  /** Whether traces have times. */
  readonly timestamps: boolean;
}

export class Tracer {
  readonly #options: TracerOptions;
  readonly #settings: TraceSettings;
  readonly #word: Uint32Array;
  /** Remaining counts by model, as the engine last reported them. */
  #left = new Map<string, number>();
  #sink: Promise<TraceSink> | undefined;
  #open: TraceSink | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Traces lost before there was a sink to count them. */
  #unwritten = 0;

  /** Starts tracing if the configuration enables it. */
  constructor(options: TracerOptions) {
    this.#options = options;
    this.#settings = new TraceSettings(options.config);
    this.#word = new Uint32Array(options.word);
    if (this.#settings.on) this.#tell(this.#settings.rules());
  }

  /** Settings of a model, "" = of all, as clients see them. */
  settings(model: string): TraceAnswer {
    this.#take();
    return this.#settings.answer(model, this.#leftOf(model));
  }

  /**
   * Changes settings of a model, "" = of all; returns the resulting settings. Errors:
   * InvalidArgument, Unimplemented; nothing is changed then.
   */
  update(model: string, change: Readonly<Record<string, unknown>>): TraceAnswer {
    this.#take();
    this.#tell(this.#settings.update(model, change, (one) => this.#leftOf(one)));
    return this.settings(model);
  }

  /** Writes the remaining traces and ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#take();
    const sink = await this.#sink?.catch(() => undefined);
    await sink?.close();
    this.#take();
  }

  #leftOf(model: string): number {
    return this.#left.get(model) ?? this.#left.get('') ?? this.#settings.values(model).count;
  }

  #tell(rules: readonly TraceRule[]): void {
    if (rules.length === 0) return;
    const { on } = this.#settings;
    const parents = on && this.#options.config.mode === 'opentelemetry';
    // Starts fetching before the engine samples by the new rules.
    if (on) this.#begin();
    const bytes = writeTraceRules({ rules, parents });
    this.#options.link.run((native) => native.setTraces(bytes));
    this.#word[0] = parents ? 1 : 0;
    for (const { model, own, count } of rules) {
      if (own) this.#left.set(model, count);
      else this.#left.delete(model);
    }
  }

  #begin(): void {
    this.#timer ??= setInterval(() => this.#take(), TAKE_EVERY_MS).unref();
    if (this.#sink !== undefined) return;
    const { openSink, logger } = this.#options;
    this.#sink = openSink((model) => this.#groupOf(model));
    this.#sink.then(
      (sink) => {
        this.#open = sink;
      },
      (error: unknown) => logger.error('traces cannot be written', { reason: String(error) }),
    );
  }

  #groupOf(model: string): FileGroup {
    const key = this.#left.has(model) ? model : '';
    const { logFrequency: tracesMax, levels } = this.#settings.values(model);
    return { key, tracesMax, timestamps: levels.includes('TIMESTAMPS') };
  }

  #take(): void {
    if (this.#timer === undefined && this.#sink === undefined) return;
    const sink = this.#open;
    const lost = (sink?.takeLost() ?? 0) + this.#unwritten;
    this.#unwritten = 0;
    const { link, logger } = this.#options;
    let taken: TraceTake;
    try {
      taken = readTraces(link.read((native) => native.takeTraces(lost)));
    } catch (error) {
      logger.error('failed to read traces from the engine', { reason: String(error) });
      return;
    }
    this.#left = new Map(taken.left.map(({ model, count }) => [model, count]));
    if (sink === undefined) this.#unwritten = taken.records.length;
    else if (taken.records.length > 0) sink.write(taken.records);
  }
}
