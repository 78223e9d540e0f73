// Writes traces to a file in Triton's JSON: one list of all, or a new file (FILE.0, FILE.1, ...)
// per fixed number of traces. The single file is complete JSON after each write. Control plane,
// main thread. Source: server/src/tracer.cc (TraceFile, WriteTrace).
import { reasonOf } from '../../../base/errors.js';
import { writeFile, type FileHandle } from 'node:fs/promises';
import {
  TRACE_GROUP_TEXT_MAX,
  TRACE_TEXT_WAITING_MAX,
  TRACE_WARN_EVERY_MS,
  TRACES_WAITING_MAX,
} from '../../../base/limits.js';
import { RareWarning, type Logger } from '../../../base/logger.js';
import { openOwn } from '../../../base/own-file.js';
import type { TraceRecord } from '../../../base/generated/engine.js';
import { type TraceSink } from './sink.js';
import { tensorEntry } from './tensor-entry.js';
import type { FileGroup } from './tracer.js';

export interface FileSinkOptions {
  readonly path: string;
  readonly groupOf: (model: string) => FileGroup;
  readonly logger: Logger;
}

/** Entries of the next file, and their characters. */
interface Group {
  readonly texts: string[];
  size: number;
}

export class FileSink implements TraceSink {
  readonly #options: FileSinkOptions;
  readonly #warning = new RareWarning(TRACE_WARN_EVERY_MS);
  /** Per group with separate files: the entries of its next file. */
  readonly #groups = new Map<string, Group>();
  /** Entries waiting for the single file. */
  #waiting: string[] = [];
  #waitingTraces = 0;
  #waitingText = 0;
  #file: FileHandle | undefined;
  /** Byte offset of the list's closing bracket. */
  #endAt = 0;
  #nextIndex = 0;
  #lastId = 0;
  #lost = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: FileSinkOptions) {
    this.#options = options;
  }

  write(records: readonly TraceRecord[]): void {
    for (const record of records) {
      const isFull = this.#waitingText >= TRACE_TEXT_WAITING_MAX;
      if (isFull || this.#waitingTraces >= TRACES_WAITING_MAX) {
        this.#lost += 1;
        continue;
      }
      this.#lastId += 1;
      const { key, tracesMax, timestamps } = this.#options.groupOf(record.model);
      const text = tritonTrace(this.#lastId, record, timestamps);
      this.#waitingTraces += 1;
      this.#waitingText += text.length;
      if (tracesMax === 0) this.#waiting.push(text);
      else this.#collect(key, text, tracesMax);
    }
    if (this.#waiting.length === 0) return;
    const texts = this.#waiting;
    this.#waiting = [];
    this.#enqueue(texts, () => this.#append(texts.join(',')));
  }

  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  async close(): Promise<void> {
    for (const { texts } of this.#groups.values()) this.#saveGroup(texts);
    this.#groups.clear();
    await this.#writing;
    await this.#file?.close();
    this.#file = undefined;
  }

  #collect(key: string, text: string, tracesMax: number): void {
    const group = this.#groups.get(key) ?? { texts: [], size: 0 };
    group.texts.push(text);
    group.size += text.length;
    this.#groups.set(key, group);
    if (group.texts.length < tracesMax && group.size < TRACE_GROUP_TEXT_MAX) return;
    this.#groups.delete(key);
    this.#saveGroup(group.texts);
  }

  #saveGroup(texts: readonly string[]): void {
    const path = `${this.#options.path}.${this.#nextIndex}`;
    this.#nextIndex += 1;
    this.#enqueue(texts, () => writeFile(path, `[${texts.join(',')}]`));
  }

  // Runs writes in sequence; a failed one is lost and the next is tried.
  #enqueue(texts: readonly string[], write: () => Promise<void>): void {
    const traces = texts.length;
    const size = texts.reduce((sum, text) => sum + text.length, 0);
    const ended = (): void => {
      this.#waitingTraces -= traces;
      this.#waitingText -= size;
    };
    this.#writing = this.#writing.then(write).then(ended, (error: unknown) => {
      ended();
      this.#lost += traces;
      const { path, logger } = this.#options;
      this.#warning.tell(() =>
        logger.warn('traces are dropped: the file cannot be written', {
          path,
          reason: reasonOf(error),
          traces,
        }),
      );
    });
  }

  // Overwrites the list's end, then writes it again after the new entries.
  async #append(text: string): Promise<void> {
    this.#file ??= await openOwn(this.#options.path, 'replace');
    const bytes = Buffer.from(`${this.#endAt === 0 ? '[' : ','}${text}]`);
    await this.#file.write(bytes, 0, bytes.length, this.#endAt);
    this.#endAt += bytes.length - 1;
  }
}

/** Entries of one request: its identity, its timestamps, its tensors. */
function tritonTrace(id: number, record: TraceRecord, timestamps: boolean): string {
  const { model, version, requestId, queueNs, inputNs, inferNs, outputNs, totalNs } = record;
  const start = BigInt(record.steadyNs);
  const head =
    `{"id":${id},"model_name":${JSON.stringify(model)},"model_version":${version}` +
    `${requestId === '' ? '' : `,"request_id":${JSON.stringify(requestId)}`}}`;
  const computed = queueNs + inputNs + inferNs;
  const times: readonly (readonly [string, number])[] = [
    ['REQUEST_START', 0],
    ['QUEUE_START', 0],
    ['COMPUTE_START', queueNs],
    ['COMPUTE_INPUT_END', queueNs + inputNs],
    ['COMPUTE_OUTPUT_START', computed],
    ['COMPUTE_END', computed + outputNs],
    ['INFER_RESPONSE_COMPLETE', Math.max(totalNs, computed + outputNs)],
    ['REQUEST_END', Math.max(totalNs, computed + outputNs)],
  ];
  const entries = (timestamps ? times : []).map(
    ([name, at]) => `{"id":${id},"timestamps":[{"name":"${name}","ns":${start + BigInt(at)}}]}`,
  );
  return [head, ...entries, ...record.tensors.map((tensor) => tensorEntry(id, tensor))].join(',');
}
