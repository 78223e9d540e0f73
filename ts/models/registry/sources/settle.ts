// Decides which scanned changes to accept: all at start; later only those that have stayed
// unchanged for a while, so that a folder that is being copied is not loaded half written, and one
// that is replaced by removing and copying is not unloaded in between. Accepted content is kept
// until new content is accepted, and while it cannot be read. Control plane; pure except for what
// it remembers.
import type { FoundModel, FoundVersion } from './scan.js';

/** Remembers contents that have not been accepted yet. Times are of a monotonic clock. */
export class Settling {
  readonly #settleMs: number;
  readonly #pending = new Map<string, { readonly content: string; readonly sinceMs: number }>();
  readonly #seen = new Set<string>();

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Whether the content was the same in two scans at least settleMs apart. */
  isSettled(what: string, content: string, nowMs: number): boolean {
    this.#seen.add(what);
    const known = this.#pending.get(what);
    const sinceMs = known?.content === content ? known.sinceMs : nowMs;
    this.#pending.set(what, { content, sinceMs });
    return nowMs - sinceMs >= this.#settleMs;
  }

  /** Forgets everything that was not checked since the last call. */
  endLook(): void {
    for (const what of this.#pending.keys()) if (!this.#seen.has(what)) this.#pending.delete(what);
    this.#seen.clear();
  }
}

/** The content of something that no longer exists. */
export const GONE = 'gone';

export interface TakeRules {
  /** Whether new content is accepted. */
  readonly isSettled: (what: string, content: string) => boolean;
  /** Whether changed content of a previously accepted version is accepted. */
  readonly takesChanges: (name: string, version: string) => boolean;
}

export interface Taken {
  /** undefined: nothing of it has settled. The same object as `previous` if nothing differs. */
  readonly model: FoundModel | undefined;
  readonly unsettled: boolean;
}

/**
 * Decides which parts of a scanned model to accept, given the `previous` accepted one. Versions
 * that have disappeared are kept while others wait, and if no other replaces them, until they have
 * been gone for a while.
 */
export function takeModel(
  found: FoundModel,
  previous: FoundModel | undefined,
  rules: TakeRules,
): Taken {
  if (!found.readable) {
    const kept = previous && { ...previous, problems: found.problems };
    return { model: unchanged(kept ?? found, previous), unsettled: false };
  }
  const { config } = found;
  const configStays = previous?.config.revision === config.revision;
  const takesConfig = configStays || rules.isSettled(JSON.stringify([found.name]), config.revision);
  const before = new Map(previous?.versions.map((one) => [one.version, one]));
  const taken: FoundVersion[] = [];
  const pending: string[] = [];
  for (const one of found.versions) {
    const kept = before.get(one.version);
    before.delete(one.version);
    if (kept !== undefined && staysAsItWas(found.name, one, kept, rules)) {
      taken.push(kept);
    } else if (rules.isSettled(JSON.stringify([found.name, one.version]), one.revision)) {
      taken.push(one);
    } else {
      pending.push(one.version);
      if (kept !== undefined) taken.push(kept);
    }
  }
  if (!takesConfig) return { model: previous, unsettled: true };
  const gone = [...before.values()];
  const replaced = taken.length >= (previous?.versions.length ?? 0);
  const stays = ({ version }: FoundVersion): boolean =>
    pending.length > 0 ||
    (!replaced && !rules.isSettled(JSON.stringify([found.name, version]), GONE));
  const kept = gone.filter(stays);
  const unsettled = pending.length + kept.length > 0;
  taken.push(...kept);
  if (unsettled && taken.length === 0 && previous === undefined) {
    return { model: undefined, unsettled };
  }
  return { model: unchanged({ ...found, versions: taken, pending }, previous), unsettled };
}

function staysAsItWas(
  name: string,
  found: FoundVersion,
  kept: FoundVersion,
  rules: TakeRules,
): boolean {
  if (found === kept) return true;
  const same =
    found.revision === kept.revision && found.path === kept.path && found.problem === kept.problem;
  return same || !rules.takesChanges(name, found.version);
}

/** Returns `previous` itself if the model has not changed at all. */
function unchanged(model: FoundModel, previous: FoundModel | undefined): FoundModel {
  if (previous === undefined) return model;
  const same =
    model.basePath === previous.basePath &&
    model.source === previous.source &&
    model.readable === previous.readable &&
    model.config.revision === previous.config.revision &&
    sameItems(model.versions, previous.versions) &&
    sameItems(model.problems, previous.problems) &&
    sameItems(model.pending, previous.pending) &&
    JSON.stringify(model.labels) === JSON.stringify(previous.labels);
  return same ? previous : model;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
