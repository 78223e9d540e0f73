// The server's version, as package.json has it. Control plane, any thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from './package-files.js';

/** "0.1.0". Reads package.json at each call: start-up only. */
export function servalVersion(): string {
  const text = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
