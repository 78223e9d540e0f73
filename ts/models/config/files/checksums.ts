// Checksums of a model's files (`model_repository_agents` with Triton's agent `checksum`), compared
// before each load. Control plane. Source: Triton's checksum_repository_agent, whose parameters are
// "MD5:<file in the model's folder>" and the sum in hex; SHA256 is Serval's own.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { echo } from '../../../base/text.js';
import { read } from '../../../protobuf/schema.js';
import type { MessageValue } from '../../../protobuf/schema.js';
import type { TritonConfig } from '../types.js';
import { pathBelow } from './path-below.js';

export const CHECKSUM_AGENT = 'checksum';
/** Algorithm -> digits of a sum in hex. */
const DIGITS: Readonly<Record<string, number>> = { MD5: 32, SHA256: 64 };

interface Checksum {
  readonly algorithm: string;
  readonly file: string;
  readonly sum: string;
}

/** Returns what is wrong with an agent's parameter; "" if nothing is. */
export function checksumProblem(key: string, sum: string): string {
  const { algorithm, file } = checksumOf(key, sum);
  const digits = DIGITS[algorithm];
  if (digits === undefined || file === '') {
    return `expected the key MD5:<file> or SHA256:<file>, got ${echo(key)}`;
  }
  if (sum.length === digits && /^[0-9a-f]+$/i.test(sum)) return '';
  return `expected ${digits} hex digits for ${echo(key)}, got ${echo(sum)}`;
}

function checksumOf(key: string, sum: string): Checksum {
  const colon = key.indexOf(':');
  const algorithm = colon < 0 ? '' : key.slice(0, colon);
  return { algorithm, file: key.slice(colon + 1), sum };
}

/** The agents of a configuration. */
export function agentsOf(config: MessageValue): readonly MessageValue[] {
  const list = read.child(config, 'model_repository_agents');
  return list === undefined ? [] : read.children(list, 'agents');
}

/**
 * Compares the files that the configuration names with their sums. `modelFolder`: absolute; the
 * folder with the version folders. Rejects with ModelInvalid: a file is missing, outside the
 * folder, or has another sum.
 */
export async function verifyChecksums(modelFolder: string, config: TritonConfig): Promise<void> {
  for (const agent of agentsOf(config)) {
    for (const [key, sum] of read.entries<string>(agent, 'parameters')) {
      await verify(modelFolder, checksumOf(key, sum));
    }
  }
}

async function verify(modelFolder: string, { algorithm, file, sum }: Checksum): Promise<void> {
  const fail = (text: string): never => {
    throw new ServalError(ErrorCode.ModelInvalid, `checksum: ${echo(file)}: ${text}`);
  };
  const hash = createHash(algorithm.toLowerCase());
  try {
    const path = await pathBelow(modelFolder, file);
    if (path === undefined) return fail("expected a file in the model's folder");
    if (!(await stat(path)).isFile()) return fail('expected a file'); // a pipe would block
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    if (error instanceof ServalError) throw error;
    fail(`cannot read the file: ${(error as Error).message}`);
  }
  const got = hash.digest('hex');
  if (got !== sum.toLowerCase()) fail(`expected ${algorithm} ${sum.toLowerCase()}, got ${got}`);
}
