// The server's version and the Node.js that it needs. Control plane, any thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-files.js';

/** Returns the version, such as "0.1.0". Reads package.json at each call: start-up only. */
export function servalVersion(): string {
  const text = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The oldest supported major version of Node.js; package.json's `engines`. */
export const NODE_MAJOR_MIN = 22;

/** Returns why `version` ("v20.20.2") is not supported; undefined if it is. Pure. */
export function unsupportedNode(version: string): string | undefined {
  const major = Number(/^v(\d+)\./.exec(version)?.[1]);
  if (major >= NODE_MAJOR_MIN) return undefined;
  return `Serval needs Node.js ${NODE_MAJOR_MIN} or newer, this is ${version}`;
}
