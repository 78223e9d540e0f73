// Makes the server's texts fit for clients: files and folders appear relative to the model's folder
// or by name, never as absolute paths. Everything that a client reads about a model's state or a
// control call passes through it when it leaves the main thread (ts/server/workers/pool.ts,
// ts/models/registry/publisher.ts); the log has the full text. Control plane, main thread.
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { ModelSnapshot, VersionSnapshot } from '../../model/snapshot.js';
import type { SnapshotChange } from '../../models/registry/snapshot-build.js';
import type { LogSettings, ModelControl, TraceSettings } from '../../protocols/control.js';

/** Maximum characters of one path. */
const PATH_CHARS_MAX = 4096;
/** Matches the end of a path in a text. */
const NAME_END = /[\s"'`,;:)\]}>|]/;
const escaped = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

export class PublicText {
  readonly #roots: () => ReadonlySet<string>;
  readonly #paths: RegExp;

  /**
   * `roots`: absolute paths of folders that contain models; paths inside them are shown relative to
   * them. `top`: names in the root of the file system; text that does not begin with one of them is
   * not a path (graph nodes have similar names).
   */
  constructor(roots: () => ReadonlySet<string>, top: readonly string[] = readdirSync('/')) {
    this.#roots = roots;
    const names = top.map(escaped).join('|');
    this.#paths = new RegExp(`(?<![\\w.~-])/(?:${names || '(?!)'})(?=$|/|${NAME_END.source})`, 'g');
  }

  /** Pure. */
  readonly of = (text: string): string => {
    if (!text.includes('/')) return text;
    let shown = '';
    let from = 0;
    for (const { index } of text.matchAll(this.#paths)) {
      if (index < from) continue; // inside the preceding path
      shown += text.slice(from, index);
      const inRoot = this.#rootChars(text, index);
      if (inRoot > 0) {
        from = index + inRoot;
        continue;
      }
      const length = text.slice(index, index + PATH_CHARS_MAX).search(NAME_END);
      from = length < 0 ? Math.min(text.length, index + PATH_CHARS_MAX) : index + length;
      shown += basename(text.slice(index, from));
    }
    return shown + text.slice(from);
  };

  // Length of the longest root that contains the path at `index`, including its slash; 0 = none.
  // Folder names may contain blanks, so the end of the path is not searched for.
  #rootChars(text: string, index: number): number {
    const roots = this.#roots();
    const end = Math.min(text.length, index + PATH_CHARS_MAX);
    let found = 0;
    for (
      let at = text.indexOf('/', index + 1);
      at >= 0 && at < end;
      at = text.indexOf('/', at + 1)
    ) {
      if (roots.has(text.slice(index, at))) found = at + 1 - index;
    }
    return found;
  }
}

type Shown = PublicText['of'];

/** Text for callers who may not see metadata when a load failed. */
export const HIDDEN_REASON =
  'it could not be loaded; the reason is in the log, and shown to callers of the metadata group';

const oneLine = (text: string): string => text.replace(/\s*[\r\n]+\s*/g, ' ').trim();

/**
 * The engine's response text for requests to a version that does not serve. `hides`: reading
 * metadata requires a key.
 */
export function publicReason(shown: Shown, hides: boolean): (text: string) => string {
  return (text) => {
    const failed = /^failed to load: /.exec(text)?.[0];
    return hides && failed !== undefined ? failed + HIDDEN_REASON : oneLine(shown(text));
  };
}

function publicVersion(version: VersionSnapshot, shown: Shown, hides: boolean): VersionSnapshot {
  const { errorMessage, signatureDefs } = version;
  const blocked = Object.entries(signatureDefs?.blocked ?? {});
  const message = oneLine(shown(errorMessage));
  const isBrief = hides && errorMessage !== '';
  if (message === errorMessage && blocked.length === 0 && !isBrief) return version;
  return {
    ...version,
    errorMessage: message,
    ...(isBrief && { briefMessage: HIDDEN_REASON }),
    ...(signatureDefs && {
      signatureDefs: {
        ...signatureDefs,
        blocked: Object.fromEntries(blocked.map(([name, why]) => [name, shown(why)])),
      },
    }),
  };
}

/**
 * A model as listeners may show it. `hides`: reading metadata requires a key, so other callers only
 * see that a load failed.
 */
export function publicModel(model: ModelSnapshot, shown: Shown, hides = false): ModelSnapshot {
  return {
    ...model,
    problem: oneLine(shown(model.problem)),
    ...(hides && model.problem !== '' && { briefProblem: HIDDEN_REASON }),
    versions: model.versions.map((version) => publicVersion(version, shown, hides)),
  };
}

/** The part of a new snapshot's change that is sent to listeners. */
export function publicChange(change: SnapshotChange, shown: Shown, hides = false): SnapshotChange {
  return {
    ...change,
    faults: change.faults.map(shown),
    models: change.models.map((model) => publicModel(model, shown, hides)),
  };
}

/** Wraps `control` for callers who may not see paths; the caller converts errors. */
export function publicControl(control: ModelControl, shown: Shown): ModelControl {
  const settings = (full: LogSettings): LogSettings => ({
    ...full,
    log_file: basename(full.log_file),
  });
  const traces = (full: TraceSettings): TraceSettings => {
    const file = full['trace_file'];
    return typeof file === 'string' ? { ...full, trace_file: basename(file) } : full;
  };
  return {
    load: (request) => control.load(request),
    unload: (model, unloadDependents) => control.unload(model, unloadDependents),
    reloadModels: (config) => control.reloadModels(config),
    demand: (model, version) => control.demand(model, version),
    reload: () => control.reload(),
    openApi: (model, allowed) => control.openApi(model, allowed),
    sharedRegions: (name) => control.sharedRegions(name),
    registerSharedRegion: (region) => control.registerSharedRegion(region),
    unregisterSharedRegion: (name) => control.unregisterSharedRegion(name),
    cudaRegions: (name) => control.cudaRegions(name),
    registerCudaRegion: (region, handle) => control.registerCudaRegion(region, handle),
    unregisterCudaRegion: (name) => control.unregisterCudaRegion(name),
    async traceSettings(model) {
      return traces(await control.traceSettings(model));
    },
    async updateTraceSettings(model, change) {
      return traces(await control.updateTraceSettings(model, change));
    },
    async index(repository, readyOnly) {
      const entries = await control.index(repository, readyOnly);
      return entries.map((entry) => ({ ...entry, reason: oneLine(shown(entry.reason)) }));
    },
    async logSettings() {
      return settings(await control.logSettings());
    },
    async updateLogSettings(change) {
      if (!Object.hasOwn(change, 'log_file')) {
        return settings(await control.updateLogSettings(change));
      }
      const { log_file: file } = await control.logSettings();
      // Clients send back the name that they were shown.
      const same = change['log_file'] === basename(file) ? { log_file: file } : {};
      return settings(await control.updateLogSettings({ ...change, ...same }));
    },
  };
}
