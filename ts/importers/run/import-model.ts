// Runs one import, from the request to the result, with the cache if there is one. Importer's
// worker thread.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importTabular } from './import-tabular.js';
import type { ImportAnswer, ImportedBy, ImportRequest, TensorFlowRequest } from './importer.js';
import { beginEntry, cacheKey, finishEntry, readCached } from './model-cache.js';
import type { ImportedModel } from '../tensorflow/imported.js';
import { importTensorFlow } from '../tensorflow/index.js';

/**
 * `made` is called with the folder for the import's files, so that it can be removed if the import
 * does not finish. Errors: those of the format's importer; of the file system if the cache cannot
 * be written.
 */
export async function importModel<Request extends ImportRequest>(
  request: Request,
  programVersion: string,
  made: (folder: string) => void = () => undefined,
): Promise<ImportAnswer<ImportedBy<Request>>> {
  const { cacheFolder } = request;
  if (cacheFolder === '') {
    const folder = mkdtempSync(join(tmpdir(), 'serval-import-'));
    made(folder);
    return importInto(request, folder);
  }
  const key = cacheKey(request, programVersion);
  const known = readCached<ImportedBy<Request>>(cacheFolder, key);
  if (known !== undefined) return { model: known, temporaryFolder: '', fromCache: true };
  const building = beginEntry(cacheFolder);
  made(building);
  const { model } = await importInto(request, building);
  const kept = finishEntry(cacheFolder, key, building, model);
  return { model: kept, temporaryFolder: '', fromCache: false };
}

async function importInto<Request extends ImportRequest>(
  request: Request,
  folder: string,
): Promise<ImportAnswer<ImportedBy<Request>>> {
  try {
    const model =
      request.format === 'tensorflow'
        ? toGraphs(request, folder)
        : await importTabular(request, folder);
    return { model: model as ImportedBy<Request>, temporaryFolder: folder, fromCache: false };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

function toGraphs(request: TensorFlowRequest, workFolder: string): ImportedModel {
  const { path, tags, inputs, outputs, first, signatures, allowRandom = true } = request;
  return importTensorFlow(path, {
    workFolder,
    allowRandom,
    ...(first === '' ? {} : { first }),
    tags,
    ...(inputs.length === 0 ? {} : { inputs }),
    ...(outputs.length === 0 ? {} : { outputs }),
    ...(signatures.length === 0 ? {} : { signatures }),
  });
}
