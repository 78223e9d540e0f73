// The importer's worker thread: runs one import and ends, which frees its memory.
import { parentPort, workerData } from 'node:worker_threads';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import type { ImportRequest } from './importer.js';
import { importModel } from './import-model.js';
import { ownThread } from './quiet-thread.js';

interface WorkerInput {
  readonly request: ImportRequest;
  readonly programVersion: string;
}

const made = (folder: string): void => {
  parentPort?.postMessage({ folder });
};

async function answer(): Promise<unknown> {
  const { request, programVersion } = workerData as WorkerInput;
  try {
    return { answer: await importModel(request, programVersion, made) };
  } catch (error) {
    const code = error instanceof ServalError ? error.code : ErrorCode.Internal;
    const message = reasonOf(error);
    const detail = error instanceof Error ? (error.stack ?? '') : '';
    return { error: { code, message, detail } };
  }
}

parentPort?.postMessage({ thread: ownThread() });
parentPort?.postMessage(await answer());
