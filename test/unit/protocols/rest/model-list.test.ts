// Lists of models: pages, and the description of each model. Source of `models`: KServe's V1
// protocol.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { listPage } from '../../../../ts/protocols/rest/model-list.js';
import { v1ListJson } from '../../../../ts/protocols/tfserving/rest-documents.js';
import { modelListJson } from '../../../../ts/protocols/v2/documents.js';
import { model, registry, version } from '../snapshots.js';

const failed = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'cut short at byte 12' };
const snapshot = registry([
  model('m', [version('12', 'END', failed), version('10')]),
  model('b', [version('1', 'LOADING')]),
  model('__proto__', [version('7')]),
  model('empty', []),
]);

const names = (query: string): readonly (string | undefined)[] => {
  const { models, next } = listPage(snapshot, query);
  return [...models.map(({ name }) => name), next];
};

describe('Lists of models', () => {
  it('come in pages, by name', () => {
    assert.deepEqual(names(''), ['__proto__', 'b', 'empty', 'm', undefined]);
    assert.deepEqual(names('limit=2'), ['__proto__', 'b', 'b']);
    assert.deepEqual(names('limit=2&after=b'), ['empty', 'm', undefined]);
    assert.deepEqual(names('after=c'), ['empty', 'm', undefined]);
    assert.deepEqual(names('after='), ['__proto__', 'b', 'empty', 'm', undefined]);
    assert.deepEqual(names('after=z'), [undefined]);
  });

  it('refuse what they do not know', () => {
    for (const query of ['limit=0', 'limit=1001', 'limit=-1', 'limit=x', 'limit=', 'page=2']) {
      const refused = (error: unknown): boolean =>
        error instanceof ServalError && error.code === ErrorCode.InvalidArgument;
      assert.throws(() => listPage(snapshot, query), refused, query);
    }
  });

  it('say in V2 what serves and why not', () => {
    const { models, details } = JSON.parse(modelListJson(snapshot, 'after=__proto__')) as {
      models: string[];
      details: Record<string, unknown>[];
    };
    assert.deepEqual(models, ['b', 'empty', 'm']);
    assert.deepEqual(details[0]?.['ready'], false);
    assert.deepEqual(details[0]?.['versions'], [{ version: '1', state: 'LOADING' }]);
    assert.deepEqual(details[1], {
      name: 'empty',
      ready: false,
      reason: 'it has no version',
      versions: [],
    });
    assert.deepEqual([details[2]?.['ready'], details[2]?.['default_version']], [true, '10']);
    const [ended, served] = details[2]?.['versions'] as Record<string, unknown>[];
    assert.match(String(ended?.['reason']), /cut short at byte 12/);
    assert.deepEqual(served, { version: '10', state: 'AVAILABLE' });
  });

  it('say in V1 what the status of each says', () => {
    const answer = JSON.parse(v1ListJson(snapshot, 'limit=1')) as Record<string, unknown>;
    const status = { error_code: 'OK', error_message: '' };
    assert.deepEqual(answer['models'], ['__proto__']);
    assert.deepEqual(Object.entries(answer['model_version_status'] as object), [
      ['__proto__', [{ version: '7', state: 'AVAILABLE', status }]],
    ]);
    assert.equal(answer['next'], '__proto__');
  });
});
