// What a text of the server's shows to clients: files and folders by their place in the model's or
// by their name, never by an absolute path. Everything that a client reads of a model's state or of
// a control call goes through it where it leaves the main thread (ts/server/workers/pool.ts,
// ts/models/registry/publisher.ts); the log has the whole text. Control plane, main thread.
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { ModelSnapshot, VersionSnapshot } from '../../model/snapshot.js';
import type { SnapshotChange } from '../../models/registry/snapshot-build.js';
import type { LogSettings, ModelControl, TraceSettings } from '../../protocols/control.js';

/** Of one path. */
const PATH_CHARS_MAX = 4096;
/** Where a path ends in a text. */
const NAME_END = /[\s"'`,;:)\]}>|]/;
const escaped = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

export class PublicText {
  readonly #roots: () => ReadonlySet<string>;
  readonly #paths: RegExp;

  /** `roots`: absolute paths of folders that models are in; what is in them is shown from there
   * on. `top`: the names at the root of the file system: what does not begin with one of them is
   * no path (nodes of graphs are named so too). */
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
      if (index < from) continue; // inside of the path before
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

  // How long the longest root is that the path at `index` goes through, its slash included; 0 =
  // none. Folders may have blanks in their names: no end of the path is looked for.
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

/** What of a load's failure callers hear who may not see metadata. */
export const HIDDEN_REASON =
  'it could not be loaded; the log, and callers of the metadata group, have the reason';

const oneLine = (text: string): string => text.replace(/\s*[\r\n]+\s*/g, ' ').trim();

/** Why a version does not serve, as the engine answers it to requests. `hides`: metadata needs a
 * key. */
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

/** A model as listeners may show it. `hides`: metadata needs a key, so that others hear briefly
 * that a load failed. */
export function publicModel(model: ModelSnapshot, shown: Shown, hides = false): ModelSnapshot {
  return {
    ...model,
    problem: oneLine(shown(model.problem)),
    ...(hides && model.problem !== '' && { briefProblem: HIDDEN_REASON }),
    versions: model.versions.map((version) => publicVersion(version, shown, hides)),
  };
}

/** What listeners are told of a new snapshot. */
export function publicChange(change: SnapshotChange, shown: Shown, hides = false): SnapshotChange {
  return {
    ...change,
    faults: change.faults.map(shown),
    models: change.models.map((model) => publicModel(model, shown, hides)),
  };
}

/** What `control` answers, for those who may not see paths; its errors are the caller's to show. */
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
    reload: () => control.reload(),
    openApi: (model) => control.openApi(model),
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
      // Clients send back what they were shown.
      const same = change['log_file'] === basename(file) ? { log_file: file } : {};
      return settings(await control.updateLogSettings({ ...change, ...same }));
    },
  };
}
