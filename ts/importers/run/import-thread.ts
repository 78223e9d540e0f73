// Runs imports in separate worker threads, bounded in time and memory, so that a bad model affects
// nothing else. Main thread; the caller limits concurrency.
import { rmSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { ErrorCode, ServalError, modelInvalid } from '../../base/errors.js';
import { IMPORT_HEAP_MB_MAX, IMPORT_MS_MAX, IMPORT_YOUNG_HEAP_MB } from '../../base/limits.js';
import type { ImportAnswer, ImportedBy, ImportRequest } from './importer.js';
import { quicklyCached } from './model-cache.js';
import type { QuietThreads } from './quiet-thread.js';

/** dist/bundle/ has a copy beside the main thread's file. */
const WORKER_FILE = new URL('./import-worker.js', import.meta.url);

/** Messages: first the thread, then the folder of the import's files, then the result. */
interface Reply {
  /** The kernel's number of it. */
  readonly thread?: number;
  readonly folder?: string;
  readonly answer?: ImportAnswer;
  readonly error?: { readonly code: ErrorCode; readonly message: string; readonly detail: string };
}

export interface ImportThreadOptions {
  /** The worker's file, if it is not beside this one. */
  readonly workerFile?: URL;
  readonly programVersion: string;
  /** Overrides of IMPORT_MS_MAX and IMPORT_HEAP_MB_MAX. */
  readonly msMax?: number;
  readonly heapMbMax?: number;
  /** Runs imports at idle priority. */
  readonly quiet?: QuietThreads | undefined;
}

/**
 * Imports one model. If that fails, no files are left on disk. Errors: those of importModel();
 * ModelInvalid if it exceeds the limits of time or memory.
 */
export function importInThread<Request extends ImportRequest>(
  request: Request,
  options: ImportThreadOptions,
): Promise<ImportAnswer<ImportedBy<Request>>> {
  const {
    programVersion,
    workerFile = WORKER_FILE,
    msMax = IMPORT_MS_MAX,
    heapMbMax = IMPORT_HEAP_MB_MAX,
    quiet,
  } = options;
  const known = quicklyCached<ImportedBy<Request>>(request, programVersion);
  if (known !== undefined) {
    return Promise.resolve({ model: known, temporaryFolder: '', fromCache: true });
  }
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerFile, {
      workerData: { request, programVersion },
      // Equally fast as with V8's default young generation, with a peak 15 MB lower.
      resourceLimits: {
        maxOldGenerationSizeMb: heapMbMax,
        maxYoungGenerationSizeMb: Math.min(heapMbMax, IMPORT_YOUNG_HEAP_MB),
      },
    });
    const timer = setTimeout(() => {
      reject(modelInvalid(request.path, `the import took longer than ${msMax / 1000} s`));
      void worker.terminate();
    }, msMax);
    let unfinished = '';
    let failure: ServalError | undefined;
    let isStarved = false;
    let endObservation: (() => void) | undefined;
    worker.on('message', ({ thread, folder, answer, error }: Reply) => {
      if (thread !== undefined) {
        endObservation = quiet?.keep(thread, () => {
          isStarved = true;
          void worker.terminate();
        });
        return;
      }
      if (folder !== undefined) {
        unfinished = folder;
        return;
      }
      unfinished = '';
      if (answer !== undefined) resolve(answer as ImportAnswer<ImportedBy<Request>>);
      else {
        const { code = ErrorCode.Internal, message = 'no result' } = error ?? {};
        reject(new ServalError(code, message));
      }
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      const memory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      failure = memory
        ? modelInvalid(request.path, `the import needs more than ${heapMbMax} MiB of heap`)
        : new ServalError(ErrorCode.Internal, `${request.path}: ${error.message}`);
    });
    worker.on('exit', () => {
      clearTimeout(timer);
      endObservation?.();
      if (unfinished !== '') rmSync(unfinished, { recursive: true, force: true });
      // Begun again at normal priority. Without effect if it was answered.
      if (isStarved) resolve(importInThread(request, { ...options, quiet: undefined }));
      reject(failure ?? modelInvalid(request.path, 'the import ended without a result'));
    });
  });
}
