// Wraps an engine with another load(). Control plane, main thread.
import type { EngineControl, LoadedModel, ModelSpec } from './engine-api.js';

/** `engine` with this load(). */
export function withLoad(
  engine: EngineControl,
  load: (spec: ModelSpec) => Promise<LoadedModel>,
): EngineControl {
  return {
    load,
    unload: (handle) => engine.unload(handle),
    publishRoutes: (epoch, models, removed) => {
      engine.publishRoutes(epoch, models, removed);
    },
    warmUp: (handle, protocol, message, signal) => engine.warmUp(handle, protocol, message, signal),
    stats: (handles) => engine.stats(handles),
  };
}
