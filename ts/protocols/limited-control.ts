// ModelControl for callers whose key is limited to some models: the others do not exist for them.
// Control plane; the listener's thread.
import { mayUse } from '../access/model-patterns.js';
import { ErrorCode, ServalError } from '../base/errors.js';
import type { ModelControl } from './control.js';
import { echoed } from './request-text.js';

function refuse(code: ErrorCode, message: string): Promise<never> {
  return Promise.reject(new ServalError(code, message));
}

const refuseLimited = (what: string): Promise<never> =>
  refuse(
    ErrorCode.InvalidArgument,
    `${what}: expected a key for all models, got one that is limited to some`,
  );

/** `models`: patterns of the names of the models that the caller may use. */
export function limitedControl(control: ModelControl, models: readonly string[]): ModelControl {
  const may = (model: string): boolean => mayUse(models, model);
  const unknown = (model: string): Promise<never> =>
    refuse(ErrorCode.ModelNotFound, `Request for unknown model: '${echoed(model)}' is not found`);
  const unknownTraces = (model: string): Promise<never> =>
    refuse(ErrorCode.InvalidArgument, `Request for unknown model : ${model}`);
  return {
    async index(repository, readyOnly) {
      const entries = await control.index(repository, readyOnly);
      return entries.filter(({ name }) => may(name));
    },
    // An ensemble of the caller's own would run any model, and its errors tell of models.
    load: (request) => {
      if (!may(request.model)) return unknown(request.model);
      return request.config === undefined ? control.load(request) : refuseLimited('config');
    },
    // Its steps may be models that the caller may not use.
    unload: (model, unloadDependents) => {
      if (!may(model)) return unknown(model);
      return unloadDependents
        ? refuseLimited('unload_dependents')
        : control.unload(model, unloadDependents);
    },
    reloadModels: () => refuseLimited('the list of models'),
    demand: (model, version) => control.demand(model, version),
    reload: () => control.reload(),
    openApi: (model) => control.openApi(model, models),
    logSettings: () => control.logSettings(),
    updateLogSettings: (change) => control.updateLogSettings(change),
    traceSettings: (model) =>
      model === '' || may(model) ? control.traceSettings(model) : unknownTraces(model),
    updateTraceSettings: (model, change) => {
      if (model === '') return refuseLimited('trace settings of all models');
      return may(model) ? control.updateTraceSettings(model, change) : unknownTraces(model);
    },
    sharedRegions: (name) => control.sharedRegions(name),
    registerSharedRegion: (region) => control.registerSharedRegion(region),
    unregisterSharedRegion: (name) => control.unregisterSharedRegion(name),
    cudaRegions: (name) => control.cudaRegions(name),
    registerCudaRegion: (region, handle) => control.registerCudaRegion(region, handle),
    unregisterCudaRegion: (name) => control.unregisterCudaRegion(name),
  };
}
