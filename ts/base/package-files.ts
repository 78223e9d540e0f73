// Locates files other than JavaScript, in a checkout or in a package. Control plane, any thread.
import { existsSync } from 'node:fs';
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

/**
 * Returns a file that is not JavaScript: at `inCheckout` (a path from the root), else the package's
 * copy called `name`; undefined when neither exists.
 */
export function shippedFile(name: string, inCheckout: string): string | undefined {
  const root = packageRoot();
  const places = [join(root, inCheckout), join(root, 'prebuilt', name)];
  return places.find((path) => existsSync(path));
}
