// Locates files other than JavaScript, in a checkout or in a package. Control plane, any thread.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const THIS_MACHINE = `${process.platform}-${process.arch}`;

/**
 * Returns the folder that holds package.json, searched upwards because tests run at another depth.
 */
export function packageRoot(): string {
  let folder = here;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) return here;
    folder = parent;
  }
  return folder;
}

// Returns the package with this machine's native files: package.json names one for each platform as
// an optional dependency, and npm installs that of the machine. Undefined if it names none for it.
function platformPackage(root: string, machine: string): string | undefined {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { optionalDependencies = {} } = JSON.parse(text) as {
    optionalDependencies?: Readonly<Record<string, string>>;
  };
  return Object.keys(optionalDependencies).find((name) => name.endsWith(`/${machine}`));
}

// Resolves a path as a module of the package at `root` would, so that every layout of node_modules
// works; undefined if it is not installed.
function resolvedFrom(root: string, path: string): string | undefined {
  try {
    return createRequire(join(root, 'package.json')).resolve(path);
  } catch {
    return undefined;
  }
}

/**
 * Returns a file that is not JavaScript: at `inCheckout` (a path from the root), else the package's
 * copy called `name`, else that of an installed platform package; undefined when none exists.
 */
export function shippedFile(
  name: string,
  inCheckout: string,
  root: string = packageRoot(),
  machine: string = THIS_MACHINE,
): string | undefined {
  const places = [join(root, inCheckout), join(root, 'prebuilt', name)];
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) return found;
  const native = platformPackage(root, machine);
  return native === undefined ? undefined : resolvedFrom(root, `${native}/prebuilt/${name}`);
}

/**
 * Returns what to do about native files that are missing, for the end of an error: install the
 * platform package if package.json names one, else build.
 */
export function nativeFilesRemedy(
  root: string = packageRoot(),
  machine: string = THIS_MACHINE,
): string {
  const wanted = platformPackage(root, machine);
  if (wanted === undefined) return 'run `make build`';
  if (resolvedFrom(root, `${wanted}/package.json`) !== undefined) return `reinstall ${wanted}`;
  return `the package ${wanted} is not installed: install it without --omit=optional`;
}
