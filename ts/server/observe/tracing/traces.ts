// The server's entry to tracing: nothing else is loaded until a flag enables it or a client reads
// or changes its settings. Control plane, main thread.
import type { TraceControl } from '../../../protocols/control.js';
import type { TraceConfig } from '../../../config/observation/tracing.js';
import type { Logger } from '../../../base/logger.js';
import type { EngineLink } from '../../../engine/link.js';
import type { TraceAnswer } from './settings.js';
import type { TraceSink } from './sink.js';
import type { FileGroup, Tracer } from './tracer.js';

export interface TracesOptions {
  readonly config: TraceConfig;
  readonly link: Pick<EngineLink, 'run' | 'read'>;
  readonly logger: Logger;
  /** The server's version. */
  readonly version: string;
}

export class Traces implements TraceControl {
  /** One word that listeners read: 1 if callers' trace context is used. */
  readonly word = new SharedArrayBuffer(Uint32Array.BYTES_PER_ELEMENT);
  readonly #options: TracesOptions;
  #tracer: Promise<Tracer> | undefined;

  constructor(options: TracesOptions) {
    this.#options = options;
  }

  /** Call before requests arrive. */
  async start(): Promise<void> {
    if (this.#options.config.levels.length > 0) await this.#made();
  }

  async settings(model: string): Promise<TraceAnswer> {
    return (await this.#made()).settings(model);
  }

  async update(model: string, change: Readonly<Record<string, unknown>>): Promise<TraceAnswer> {
    return (await this.#made()).update(model, change);
  }

  /** Call after the last request: writes the remaining traces. */
  async close(): Promise<void> {
    await (await this.#tracer)?.close();
  }

  #made(): Promise<Tracer> {
    this.#tracer ??= this.#make();
    return this.#tracer;
  }

  async #make(): Promise<Tracer> {
    const { Tracer } = await import('./tracer.js');
    const { config, link, logger } = this.#options;
    return new Tracer({
      config,
      link,
      logger,
      word: this.word,
      openSink: (groupOf) => this.#openSink(groupOf),
    });
  }

  async #openSink(groupOf: (model: string) => FileGroup): Promise<TraceSink> {
    const { config, logger, version } = this.#options;
    const { mode, file: path, otlp: settings } = config;
    if (mode === 'triton') {
      const { FileSink } = await import('./file-sink.js');
      return new FileSink({ path, groupOf, logger });
    }
    const { OtlpSink } = await import('./otlp-sink.js');
    const { otlpExporter } = await import('./otlp-exporter.js');
    const spans = await otlpExporter(settings, version);
    return new OtlpSink({ settings, spans, logger });
  }
}
