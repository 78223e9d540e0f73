// Where files that are no JavaScript lie: a checkout's, a package's. Control plane, any thread.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** The folder that holds package.json: found upwards, because tests run from another depth. */
export function packageRoot(): string {
  let folder = here;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) return here;
    folder = parent;
  }
  return folder;
}

/** A file that is no JavaScript: `inCheckout` (a path from the root), else what a package carries
 * under `name`; undefined where neither is there. */
export function shippedFile(name: string, inCheckout: string): string | undefined {
  const root = packageRoot();
  const places = [join(root, inCheckout), join(root, 'prebuilt', name)];
  return places.find((path) => existsSync(path));
}
