// The repository API and the log settings over real folders and an engine that loads everything.
import { NO_TRACES } from './fake-control.js';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type {
  LoadModelRequest,
  ModelControl,
  RepositoryIndexEntry,
} from '../../../../ts/protocols/control.js';
import { sharedMemoryControl } from '../../../../ts/server/admin/shared-memory.js';
import { createModelControl } from '../../../../ts/server/admin/model-control.js';
import type { ModelControlMode } from '../../../../ts/config/config.js';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { createLogger, LogLevels } from '../../../../ts/base/logger.js';
import type { LogSwitches } from '../../../../ts/base/logger.js';
import { startSource } from '../../models/registry/sources/source-setup.js';
import type { SetupChange, SourceSetup } from '../../models/registry/sources/source-setup.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';

const sharedMemory = sharedMemoryControl(undefined);

interface ControlSetup extends SourceSetup {
  readonly control: ModelControl;
  /** The folder for files of load calls. */
  readonly tempRoot: string;
}

async function setup(
  t: TestContext,
  folder: string,
  mode: ModelControlMode = 'explicit',
  change: SetupChange = {},
): Promise<ControlSetup> {
  const tempRoot = tempFolder(t);
  const started = await startSource({
    tempRoot,
    ...change,
    sources: { modelRepositories: [folder], ...change.sources },
    control: { mode, settleMs: 0, fileSystemPollSeconds: 0, ...change.control },
  });
  const { source, registry } = started;
  const levels = new LogLevels('info');
  return {
    ...started,
    tempRoot,
    control: createModelControl({
      source,
      registry,
      mode,
      levels,
      traces: NO_TRACES,
      sharedMemory,
    }),
  };
}

function request(model: string, more: Partial<LoadModelRequest> = {}): LoadModelRequest {
  return { model, config: undefined, files: new Map(), ...more };
}

function files(entries: Readonly<Record<string, string>>): ReadonlyMap<string, Uint8Array> {
  return new Map(Object.entries(entries).map(([name, text]) => [name, Buffer.from(text)]));
}

/** "name/version STATE: reason". */
function lines(entries: readonly RepositoryIndexEntry[]): string[] {
  return entries.map(
    ({ name, version, state, reason }) =>
      `${name}/${version} ${state}${reason === '' ? '' : `: ${reason}`}`,
  );
}

const TWO = { 'a/1/model.onnx': 'x', 'b/1/model.onnx': 'x', 'b/2/model.onnx': 'x' };

test('explicit: nothing is loaded by itself, but what --load-model names', async (t) => {
  const folder = filledFolder(t, TWO);
  const none = await setup(t, folder);
  assert.deepEqual(none.engine.events, []);
  assert.equal(none.registry.snapshot.ready, true);
  assert.deepEqual(lines(await none.control.index('', false)), [
    'a/ UNAVAILABLE',
    'b/ UNAVAILABLE',
  ]);
  assert.deepEqual(await none.control.index('', true), []);
  const one = await setup(t, folder, 'explicit', { control: { loadModels: ['b'] } });
  assert.equal(one.states(), 'b/2:AVAILABLE');
  assert.deepEqual(lines(await one.control.index('', false)), ['a/ UNAVAILABLE', 'b/2 READY']);
  const all = await setup(t, folder, 'explicit', { control: { loadModels: ['*'] } });
  assert.equal(all.states(), 'a/1:AVAILABLE b/2:AVAILABLE');
});

test('--load-model with a name that is nowhere is a problem at start', async (t) => {
  const folder = filledFolder(t, TWO);
  const { source, states } = await setup(t, folder, 'explicit', {
    control: { loadModels: ['a', 'zebra'] },
  });
  assert.equal(states(), 'a/1:AVAILABLE');
  assert.deepEqual(source.startProblems, [
    `--load-model: model 'zebra' not found: searched ${folder}`,
  ]);
});

test('explicit control loads, reloads and unloads, and the index follows', async (t) => {
  const folder = filledFolder(t, TWO);
  const { control, engine, states, clock } = await setup(t, folder);
  await control.load(request('b'));
  assert.equal(states(), 'b/2:AVAILABLE');
  await control.load(request('b'));
  assert.deepEqual(engine.events, ['load b/2'], 'nothing changed');
  mkdirSync(join(folder, 'b/3'));
  writeFileSync(join(folder, 'b/3/model.onnx'), 'x');
  assert.equal(clock.nextMs, undefined, 'nothing is watched');
  await control.load(request('b'));
  assert.equal(states(), 'b/3:AVAILABLE b/2:END');
  assert.deepEqual(lines(await control.index('', false)), [
    'a/ UNAVAILABLE',
    'b/2 UNAVAILABLE: unloaded',
    'b/3 READY',
  ]);
  await control.unload('b', false);
  assert.equal(states(), '');
  assert.deepEqual(lines(await control.index('', false)), [
    'a/ UNAVAILABLE',
    'b/3 UNAVAILABLE: unloaded',
  ]);
  await control.unload('b', true);
  await control.unload('a', false);
  await control.load(request('b'));
  assert.deepEqual(lines(await control.index('', true)), ['b/3 READY']);
});

test('explicit: what is not known is not found, whatever its name', async (t) => {
  const folder = filledFolder(t, { ...TWO, file: 'x' });
  const { control } = await setup(t, join(folder, 'b', '..'));
  for (const name of ['zebra', '..', '.', '', 'file', 'a/1', `../${folder.split('/').pop()}/a`]) {
    await assert.rejects(control.load(request(name)), { code: ErrorCode.ModelNotFound }, name);
    await assert.rejects(control.unload(name, false), { code: ErrorCode.ModelNotFound }, name);
  }
});

test('explicit: a failed load rejects with its reason; the old version serves on', async (t) => {
  const folder = filledFolder(t, TWO);
  const { control, engine, states, registry } = await setup(t, folder);
  await control.load(request('a'));
  engine.broken.add(join(folder, 'a/1/model.onnx'));
  writeFileSync(join(folder, 'a/1/model.onnx'), 'broken');
  await assert.rejects(control.load(request('a')), {
    code: ErrorCode.ModelInvalid,
    message: `load failed for model 'a': version 1: ${folder}/a/1/model.onnx is broken`,
  });
  assert.equal(states(), 'a/1:AVAILABLE');
  assert.deepEqual(lines(await control.index('', true)), [
    `a/1 READY: ${folder}/a/1/model.onnx is broken`,
  ]);
  await assert.rejects(control.load(request('a')), /is broken/, 'it is tried again');
  assert.equal(engine.events.filter((event) => event === 'load a/1').length, 3);
  engine.broken.clear();
  await control.load(request('a'));
  assert.deepEqual(lines(await control.index('', true)), ['a/1 READY']);
  engine.broken.add(join(folder, 'b/2/model.onnx'));
  await assert.rejects(control.load(request('b')), /b\/2\/model.onnx is broken/);
  assert.equal(registry.snapshot.ready, true, 'a call does not take the server out');
  rmSync(join(folder, 'a/1'), { recursive: true });
  await assert.rejects(control.load(request('a')), /a has no version folder/);
  assert.deepEqual(lines(await control.index('', true)), ['a/1 READY']);
  assert.deepEqual(lines(await control.index('', false)).slice(1), [
    `b/2 UNAVAILABLE: ${folder}/b/2/model.onnx is broken`,
  ]);
});

test('explicit: a configuration given with the call counts until the next call', async (t) => {
  const folder = filledFolder(t, { ...TWO, 'a/config.pbtxt': 'max_batch_size: 2' });
  const { control, engine, source, registry } = await setup(t, folder);
  await control.load(request('a', { config: '{"max_batch_size": 32}' }));
  await control.load(request('b', { config: '{"version_policy": {"all": {}}}' }));
  assert.deepEqual(
    engine.specs.map((spec) => [spec.name, spec.version, spec.batch?.rowsMax]),
    [
      ['a', '1', 32],
      ['b', '2', 4],
      ['b', '1', 4],
    ],
  );
  const config = JSON.parse(registry.snapshot.models['a']?.versions[0]?.configJson ?? '') as object;
  assert.equal((config as Record<string, unknown>)['max_batch_size'], 32);
  await source.reload();
  assert.equal(engine.specs.length, 3, 'a reload does not lose it');
  await control.load(request('a'));
  assert.equal(engine.specs.at(-1)?.batch?.rowsMax, 2);
});

test('explicit: files given with the call are served from a private folder', async (t) => {
  const folder = filledFolder(t, TWO);
  const { control, engine, tempRoot, states, source } = await setup(t, folder);
  const config = '{"max_batch_size": 8, "version_policy": {"all": {}}}';
  await control.load(
    request('a', {
      config,
      files: files({ '5/model.onnx': 'bytes', '5/weights/w.bin': 'more', '6/model.onnx': '' }),
    }),
  );
  assert.equal(states(), 'a/6:AVAILABLE a/5:AVAILABLE');
  const path = engine.specs.find((spec) => spec.version === '5')?.path ?? '';
  assert.ok(path.startsWith(tempRoot));
  assert.equal(readFileSync(path, 'utf8'), 'bytes');
  await source.reload();
  assert.equal(states(), 'a/6:AVAILABLE a/5:AVAILABLE');
  await control.load(request('a', { config, files: files({ '7/model.onnx': 'x' }) }));
  assert.equal(existsSync(path), false, 'the files of the first call are gone');
  assert.equal(readdirSync(tempRoot).length, 1);
  await control.load(request('new', { config: '{}', files: files({ '1/model.onnx': 'x' }) }));
  assert.deepEqual(lines(await control.index('', true)), ['a/7 READY', 'new/1 READY']);
  await control.load(request('a'));
  assert.match(engine.specs.at(-1)?.path ?? '', new RegExp(`^${folder}`));
  assert.equal(readdirSync(tempRoot).length, 1);
  await control.unload('new', false);
  assert.deepEqual(readdirSync(tempRoot), []);
  await control.load(request('new', { config: '{}', files: files({ '1/model.onnx': 'x' }) }));
  await source.stop();
  assert.deepEqual(readdirSync(tempRoot), []);
});

test('explicit: bad configurations and files are refused and leave nothing behind', async (t) => {
  const folder = filledFolder(t, TWO);
  const { control, tempRoot, states } = await setup(t, folder);
  await control.load(request('a'));
  const one = files({ '1/model.onnx': 'x' });
  const wrong: [Partial<LoadModelRequest>, RegExp][] = [
    [{ files: one }, /expected the parameter "config" with them/],
    [{ config: '{' }, /expected a model configuration in JSON/],
    [{ config: '{"nonsense": 1}' }, /nonsense/],
    [{ config: '{"max_batch_size": "x"}' }, /max_batch_size/],
    [{ config: '{"name": "other"}' }, /expected the name of the model's folder/],
    ...[
      '../model.onnx',
      '1/../../x',
      '/etc/passwd',
      '1//x',
      'model.onnx',
      '1/a\\b',
      '1/a\0b',
      '',
      '1/.',
      `1/${'x/'.repeat(20)}y`,
      `1/${'y'.repeat(256)}`,
    ].map((name): [Partial<LoadModelRequest>, RegExp] => [
      { config: '{}', files: files({ [name]: 'x' }) },
      /expected "version\/file" without/,
    ]),
    [{ config: '{}', files: files({ '1/m': 'x', '1/m/n': 'x' }) }, /cannot write its files/],
  ];
  for (const [more, message] of wrong) {
    await assert.rejects(
      control.load(request('a', more)),
      { code: ErrorCode.InvalidArgument, message },
      JSON.stringify([...(more.files?.keys() ?? [])]),
    );
  }
  await assert.rejects(
    control.load(request('a', { config: '{}', files: files({ '1/other.bin': 'x' }) })),
    { code: ErrorCode.ModelInvalid, message: /expected model.onnx, got other.bin/ },
  );
  assert.deepEqual(readdirSync(tempRoot), []);
  assert.equal(states(), 'a/1:AVAILABLE');
});

test('none and poll: single models are neither loaded nor unloaded', async (t) => {
  const folder = filledFolder(t, TWO);
  for (const mode of ['none', 'poll'] as const) {
    const { control, states } = await setup(t, folder, mode);
    const refused = {
      code: ErrorCode.ModelNotReady,
      message:
        'explicit model load / unload is not allowed if polling is enabled: ' +
        `expected --model-control-mode=explicit, got ${mode}`,
    };
    await assert.rejects(control.load(request('a')), refused);
    await assert.rejects(control.unload('a', false), refused);
    assert.equal(states(), 'a/1:AVAILABLE b/2:AVAILABLE');
  }
});

test('the index has every model of every place, or of one repository', async (t) => {
  const folder = filledFolder(t, {
    'one/a/1/model.onnx': 'x',
    'one/empty/readme': 'x',
    'one/10/10/model.onnx': 'x',
    'two/c/1/model.onnx': 'x',
    'two/c/config.pbtxt': 'oops',
    'base/3/model.onnx': 'x',
  });
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  const { control } = await setup(t, folder, 'none', {
    sources: {
      modelRepositories: [one, two],
      baseModel: { name: 'tf', path: join(folder, 'base') },
    },
  });
  const all = lines(await control.index('', false));
  assert.deepEqual(
    all.map((line) => line.split(':')[0]),
    ['10/10 READY', 'a/1 READY', 'c/1 UNAVAILABLE', 'tf/3 READY'],
  );
  assert.match(all[2] ?? '', /config.pbtxt:1:/);
  assert.deepEqual(lines(await control.index(one, true)), ['10/10 READY', 'a/1 READY']);
  await assert.rejects(control.index('/none', false), {
    code: ErrorCode.InvalidArgument,
    message: new RegExp(`expected one of ${one}, ${two}`),
  });
});

test('reload scans files and folders again', async (t) => {
  const folder = filledFolder(t, TWO);
  const { control, states } = await setup(t, folder, 'none');
  mkdirSync(join(folder, 'a/4'));
  writeFileSync(join(folder, 'a/4/model.onnx'), 'x');
  await control.reload();
  assert.equal(states(), 'a/4:AVAILABLE a/1:END b/2:AVAILABLE');
});

test('log settings are read and changed, all of a change or none', async (t) => {
  const folder = filledFolder(t, TWO);
  const { source, registry } = await setup(t, folder);
  const levels = new LogLevels('info');
  const seen: LogSwitches[] = [];
  const control = createModelControl({
    source,
    registry,
    traces: NO_TRACES,
    levels,
    sharedMemory,
    mode: 'explicit',
    levelsChanged: (one) => void seen.push(one),
  });
  const written: string[] = [];
  const logger = createLogger({
    level: 'error',
    format: 'text',
    control: levels,
    write: (line) => written.push(line),
  });
  const standard = {
    log_file: '',
    log_info: true,
    log_warning: true,
    log_error: true,
    log_verbose_level: 0,
    log_format: 'ISO8601',
  };
  assert.deepEqual(await control.logSettings(), standard);
  const change = { log_info: false, log_verbose_level: 2, log_format: 'default', log_file: '' };
  const after = await control.updateLogSettings(change);
  assert.deepEqual(after, { ...standard, ...change });
  assert.deepEqual(await control.logSettings(), after);
  assert.deepEqual(seen, [{ debug: true, info: false, warn: true, error: true }]);
  for (const level of ['debug', 'info', 'warn', 'error'] as const) logger[level](level);
  assert.deepEqual(
    written.map((line) => line.trim().split(' ').pop()),
    ['debug', 'warn', 'error'],
  );
  const inFile = createModelControl({
    source,
    registry,
    traces: NO_TRACES,
    levels,
    sharedMemory,
    logFile: '/l',
    mode: 'explicit',
  });
  assert.equal((await inFile.updateLogSettings({ log_file: '/l' })).log_file, '/l');
  await assert.rejects(
    inFile.updateLogSettings({ log_file: '' }),
    /expected "\/l": the log goes to/,
  );
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ log_nonsense: true }, /"log_nonsense": expected one of log_file, log_info/],
    [{ constructor: true }, /"constructor": expected one of/],
    [{ log_info: 'true' }, /"log_info": expected true or false, got "true"/],
    [{ log_warning: 1 }, /"log_warning"/],
    [{ log_verbose_level: -1 }, /whole number of 0 or more, got -1/],
    [{ log_verbose_level: 1.5 }, /got 1.5/],
    [{ log_verbose_level: 2n }, /got 2/],
    [{ log_format: 'json' }, /"log_format": expected default or ISO8601/],
    [{ log_file: '/tmp/log' }, /which cannot be changed/],
    [{ log_error: undefined }, /got nothing/],
  ];
  for (const [bad, message] of wrong) {
    await assert.rejects(control.updateLogSettings({ log_error: false, ...bad }), {
      code: ErrorCode.InvalidArgument,
      message,
    });
  }
  assert.deepEqual(await control.logSettings(), after);
  assert.equal(seen.length, 1);
});
