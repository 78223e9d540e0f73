// Log records: levels, both formats, and escaping of line breaks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../../ts/base/logger.js';
import type { LogFormat, Logger, LogLevel } from '../../../ts/base/logger.js';

const NOW = Date.UTC(2024, 0, 2, 3, 4, 5, 678);

function capture(level: LogLevel, format: LogFormat): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const logger = createLogger({ level, format, now: () => NOW, write: (line) => lines.push(line) });
  return { logger, lines };
}

test('text records', () => {
  const { logger, lines } = capture('debug', 'text');
  logger.info('model loaded', { model: 'a b', version: '3', ms: 5, none: undefined, ok: true });
  logger.warn('odd');
  assert.deepEqual(lines, [
    '2024-01-02T03:04:05.678Z INFO  model loaded model="a b" version=3 ms=5 ok=true\n',
    '2024-01-02T03:04:05.678Z WARN  odd\n',
  ]);
});

test('JSON records', () => {
  const { logger, lines } = capture('info', 'json');
  logger.error('failed', { reason: 'x\ny', level: 'odd', big: 2n ** 63n, bad: Number.NaN });
  assert.equal(lines.length, 1);
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    time: '2024-01-02T03:04:05.678Z',
    level: 'error',
    message: 'failed',
    reason: 'x\ny',
    level_: 'odd',
    big: '9223372036854775808',
    bad: 'NaN',
  });
});

test('levels below the threshold are not written', () => {
  const { logger, lines } = capture('warn', 'text');
  logger.debug('a');
  logger.info('b');
  logger.warn('c');
  logger.error('d');
  assert.deepEqual(
    lines.map((line) => line.trim().at(-1)),
    ['c', 'd'],
  );
  assert.equal(logger.enabled('info'), false);
  assert.equal(logger.enabled('error'), true);
  const off = capture('off', 'text');
  off.logger.error('x');
  assert.deepEqual(off.lines, []);
});

test('one record is one line whatever is in it', () => {
  const evil = 'a\nb\r\u2028c\u0000\u001b[31m"\\ = \u202e';
  for (const format of ['text', 'json'] as const) {
    const { logger, lines } = capture('info', format);
    logger.info(`message ${evil}`, { value: evil });
    assert.equal(lines.length, 1);
    const line = lines[0] ?? '';
    assert.equal(line.indexOf('\n'), line.length - 1);
    assert.doesNotMatch(line.trimEnd(), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    if (format === 'json') assert.equal((JSON.parse(line) as { value: string }).value, evil);
  }
});

test('long values are cut with their length', () => {
  const { logger, lines } = capture('info', 'text');
  logger.info('m', { value: 'x'.repeat(100_000) });
  assert.ok((lines[0] ?? '').length < 2200);
  assert.match(lines[0] ?? '', /\.\.\.\(100000 characters\)/);
});
