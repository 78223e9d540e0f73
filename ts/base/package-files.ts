// Locates files other than JavaScript, in a checkout or in a package. Control plane, any thread.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

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

// Returns the packages that package.json names as optional dependencies: one with native files for
// each platform, of which npm installs the one for this machine.
function platformPackages(root: string): readonly string[] {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { optionalDependencies = {} } = JSON.parse(text) as {
    optionalDependencies?: Readonly<Record<string, string>>;
  };
  return Object.keys(optionalDependencies);
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
): string | undefined {
  const places = [join(root, inCheckout), join(root, 'prebuilt', name)];
  const found = places.find((path) => existsSync(path));
  if (found !== undefined) return found;
  return platformPackages(root)
    .map((one) => resolvedFrom(root, `${one}/prebuilt/${name}`))
    .find((path) => path !== undefined);
}

/**
 * Returns what to do about native files that are missing, for the end of an error: install the
 * platform package if package.json names one, else build.
 */
export function nativeFilesRemedy(root: string = packageRoot()): string {
  const [wanted] = platformPackages(root);
  if (wanted === undefined) return 'run `make build`';
  if (resolvedFrom(root, `${wanted}/package.json`) !== undefined) return `reinstall ${wanted}`;
  const { platform, arch } = process;
  return (
    `the package ${wanted} is not installed: install it without --omit=optional; ` +
    `this machine is ${platform}-${arch}`
  );
}
