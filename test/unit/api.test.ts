// The options of startServer(): how they become settings, and that each flag has a type. The
// package suite tests the call itself (scripts/packaging/check-npm.mjs).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { optionName, optionSettings } from '../../ts/api.js';
import { configOf } from '../../ts/config/config.js';
import { SERVE_FLAGS } from '../../ts/config/flags.js';
import { ErrorCode, ServalError } from '../../ts/base/errors.js';

const texts = (options: Record<string, unknown>): Record<string, readonly string[]> =>
  Object.fromEntries([...optionSettings(options, '/here')].map(([name, one]) => [name, one.texts]));

describe('options of startServer', () => {
  it('are the flags in camelCase', () => {
    assert.deepEqual(
      texts({
        paths: ['a', 'b'],
        httpPort: 0,
        strictReadiness: false,
        memoryLimit: '1G',
        loadModel: 'x',
        restApiTimeoutInMs: 5,
        host: undefined,
      }),
      {
        paths: ['a', 'b'],
        'http-port': ['0'],
        'strict-readiness': ['false'],
        'memory-limit': ['1G'],
        'load-model': ['x'],
        'rest-api-timeout-in-ms': ['5'],
      },
    );
    assert.deepEqual(texts({ memoryLimit: 16_777_216 }), { 'memory-limit': ['16777216'] });
  });

  it('have the defaults of the flags, and paths from the working folder', async () => {
    const config = await configOf(optionSettings({ paths: 'models' }, '/here'), '/here');
    assert.deepEqual([config.httpPort, config.grpcPort, config.drainSeconds], [8000, 8001, 30]);
    assert.deepEqual(config.sources.paths, ['/here/models']);
  });

  for (const [options, message] of [
    [{ htpPort: 1 }, 'startServer: unknown option "htpPort"; did you mean httpPort?'],
    [{ 'http-port': 1 }, 'startServer: unknown option "http-port"; did you mean httpPort?'],
    [{ httpPort: '1' }, 'startServer: httpPort: expected a number, got string'],
    [{ strictReadiness: 1 }, 'startServer: strictReadiness: expected a boolean, got number'],
    [{ host: ['a'] }, 'startServer: host: expected a string, got object'],
    [{ paths: ['a', 1] }, 'startServer: paths: expected a string, got number'],
  ] as const) {
    it(`are refused: ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => optionSettings(options, '/here'),
        (error) =>
          error instanceof ServalError &&
          error.code === ErrorCode.InvalidArgument &&
          error.message === message,
      );
    });
  }

  it('have names that lead back to their flag', () => {
    for (const row of SERVE_FLAGS) {
      const value = { int: 1, bool: true }[row.type.kind as 'int' | 'bool'] ?? 'x';
      const settings = optionSettings({ [optionName(row)]: value }, '/here');
      assert.deepEqual([...settings.keys()], [row.name]);
    }
  });
});
