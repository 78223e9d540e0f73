// The command line of `serve` as a configuration, or its refusal. Test time only.
import assert from 'node:assert/strict';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import { parseServeConfig, type Config } from '../../../ts/config/config.js';

/** The folder from which relative paths count. */
export const CWD = '/somewhere';

export async function parse(...args: string[]): Promise<Config> {
  const config = await parseServeConfig(args, CWD);
  assert.ok(config, 'expected a configuration');
  return config;
}

export async function refuses(args: readonly string[], text: string | RegExp): Promise<void> {
  await assert.rejects(parseServeConfig(args, CWD), (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, ErrorCode.InvalidArgument);
    if (typeof text === 'string') assert.equal(error.message, text);
    else assert.match(error.message, text);
    return true;
  });
}
