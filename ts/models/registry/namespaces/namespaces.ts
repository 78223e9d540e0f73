// Models of equal names in several repositories (--model-namespacing): each repository is a
// namespace, called by its folder's name if that is unique, else by its path, which not every
// client may see. A model whose name is unique keeps it. Others are called NAMESPACE::NAME, and the
// plain name is that of a model without versions, which says so. So is the name of a folder that is
// really called NAMESPACE::NAME, when a model gets that name. Steps of ensembles look in their own
// repository first. Pure except for what it remembers; control plane. Source: Triton's core,
// model_repository_manager (ModelIdentifier, FindModelIdentifier, DependencyGraph).
import { basename, dirname } from 'node:path';
import type { DesiredModel } from '../desired.js';
import type { FoundModel } from '../sources/scan.js';

/** The models by distinct names. */
export interface Named {
  readonly models: readonly FoundModel[];
  /** Stand for the names that several models have. */
  readonly ambiguous: readonly DesiredModel[];
  /** Why models are not served at all, each a sentence with the paths of both. */
  readonly problems: readonly string[];
  /** The name of the model that a step of this ensemble means. */
  readonly stepName: (ensemble: FoundModel, model: string) => string;
}

/** Triton's form of a model's identifier. */
export const nameIn = (namespace: string, name: string): string => `${namespace}::${name}`;

const namespaceOf = (model: FoundModel): string => dirname(model.basePath);

const several = (names: readonly string[]): string =>
  `the name is that of several models: expected one of ${[...names].sort().join(', ')}`;

/**
 * The names that a generated name shares with another model, each with the reason to refuse both:
 * neither is clearly meant.
 */
function clashesOf(
  models: readonly FoundModel[],
  isRenamed: (model: FoundModel) => boolean,
): ReadonlyMap<string, string> {
  const byName = new Map<string, FoundModel[]>();
  for (const model of models) {
    const same = byName.get(model.name);
    if (same === undefined) byName.set(model.name, [model]);
    else same.push(model);
  }
  const clashes = new Map<string, string>();
  for (const [name, same] of byName) {
    if (same.length < 2 || !same.some(isRenamed)) continue;
    const places = same.map((model) =>
      isRenamed(model)
        ? `${model.basePath} (by its namespace)`
        : `${model.basePath} (its own name)`,
    );
    clashes.set(name, `the name is that of ${places.sort().join(' and of ')}: rename one of them`);
  }
  return clashes;
}

export class Namespaces {
  /** Models are compared by identity: the same model gets the same copy. */
  readonly #renamed = new WeakMap<FoundModel, FoundModel>();
  /** The namespace and the plain name of copies. */
  readonly #origins = new WeakMap<FoundModel, FoundModel>();
  #ambiguous = new Map<string, DesiredModel>();

  /** `repositories`: the paths of all repositories, also of empty ones. */
  of(found: readonly FoundModel[], repositories: readonly string[]): Named {
    const known = [...new Set([...repositories, ...found.map(namespaceOf)])];
    const isShared = (name: string): boolean =>
      known.filter((path) => basename(path) === name).length > 1;
    const called = (model: FoundModel): string => {
      const path = namespaceOf(model);
      const short = basename(path);
      return nameIn(short === '' || isShared(short) ? path : short, model.name);
    };
    const byName = new Map<string, FoundModel[]>();
    for (const model of found) {
      if (model.source !== 'repository') continue;
      const same = byName.get(model.name);
      if (same === undefined) byName.set(model.name, [model]);
      else same.push(model);
    }
    const isUnique = (name: string): boolean => (byName.get(name)?.length ?? 0) < 2;
    const all = found.map((model) =>
      model.source !== 'repository' || isUnique(model.name)
        ? model
        : this.#rename(model, called(model)),
    );
    const ambiguous = new Map<string, DesiredModel>();
    for (const [name, same] of byName) {
      if (same.length > 1) ambiguous.set(name, this.#stand(name, several(same.map(called)), false));
    }
    const clashes = clashesOf(all, (model) => this.#origins.has(model));
    for (const [name, problem] of clashes) ambiguous.set(name, this.#stand(name, problem, true));
    const models = all.filter(({ name }) => !clashes.has(name));
    this.#ambiguous = ambiguous;
    const stepName = (ensemble: FoundModel, model: string): string => {
      if (isUnique(model)) return model;
      const place = namespaceOf(this.#origins.get(ensemble) ?? ensemble);
      const own = byName.get(model)?.find((one) => namespaceOf(one) === place);
      return own === undefined ? model : called(own);
    };
    const problems = [...clashes].map(([name, problem]) => `model '${name}': ${problem}`);
    return { models, ambiguous: [...ambiguous.values()], problems, stepName };
  }

  #rename(model: FoundModel, name: string): FoundModel {
    const known = this.#renamed.get(model);
    if (known?.name === name) return known;
    const renamed = { ...model, name };
    this.#renamed.set(model, renamed);
    this.#origins.set(renamed, model);
    return renamed;
  }

  #stand(name: string, problem: string, required: boolean): DesiredModel {
    const known = this.#ambiguous.get(name);
    if (known?.problem === problem) return known;
    return { name, versions: [], labels: {}, problem, required };
  }
}
