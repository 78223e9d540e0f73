// ModelService. Source: tensorflow/serving model_service_impl.cc, get_model_status_impl.cc.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { encoded, outcome, servingRig, SPEC } from './serving-rig.js';

const { control, readings, call, answered } = servingRig();

describe('GetModelStatus', () => {
  const asked = (spec: object): Buffer => encoded('GetModelStatusRequest', { model_spec: spec });

  it('lists versions newest first, or the one named', async () => {
    const eight = {
      version: '8',
      state: 'END',
      status: { error_code: 'FAILED_PRECONDITION', error_message: 'cut short' },
    };
    const seven = {
      version: '7',
      state: 'AVAILABLE',
      status: { error_code: 'OK', error_message: '' },
    };
    for (const [spec, expected] of [
      [SPEC, [eight, seven]],
      [{ name: 'tf', version: { value: 7 } }, [seven]],
      [{ name: 'tf', version_label: 'next' }, [eight]],
    ] as const) {
      assert.deepEqual(await answered('GetModelStatus', asked(spec), 'GetModelStatusResponse'), {
        model_version_status: expected,
      });
    }
  });

  it('refuses what is not there', async () => {
    const cases: readonly [Buffer, readonly [number, string]][] = [
      [Buffer.alloc(0), [3, 'Missing ModelSpec']],
      [asked({ name: 'nope' }), [5, 'Could not find any versions of model nope']],
      [asked({ name: 'tf', version: { value: 9 } }), [5, 'Could not find version 9 of model tf']],
      [asked({ name: 'tf', version_label: 'x' }), [3, 'Unrecognized servable version label: x']],
      [
        Buffer.from('0aff', 'hex'),
        [3, 'GetModelStatusRequest: byte 1: field 1: the message ends inside a number'],
      ],
    ];
    for (const [message, expected] of cases) {
      assert.deepEqual(outcome(await call('GetModelStatus', message)), expected);
    }
  });
});

describe('HandleReloadConfigRequest', () => {
  const CONFIG = { model_config_list: { config: [{ name: 'a', base_path: '/a' }] } };

  it('hands the configuration on and answers when it is served', async () => {
    let release = (): void => undefined;
    control.gate = () =>
      new Promise<void>((resolve) => {
        release = resolve;
      });
    const pending = answered(
      'HandleReloadConfigRequest',
      encoded('ReloadConfigRequest', { config: CONFIG }),
      'ReloadConfigResponse',
    );
    while (control.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    release();
    assert.deepEqual(await pending, {
      status: { error_code: 'OK', error_message: '' },
      metric: [],
    });
    const config = encoded('ModelServerConfig', CONFIG).toString('hex');
    assert.deepEqual(control.calls, [['reloadModels', config]]);
    control.gate = () => Promise.resolve();
  });

  it('joins a configuration that comes in two fields', async () => {
    const half = encoded('ReloadConfigRequest', { config: CONFIG });
    await answered(
      'HandleReloadConfigRequest',
      Buffer.concat([half, half]),
      'ReloadConfigResponse',
    );
    const config = encoded('ModelServerConfig', CONFIG).toString('hex');
    assert.deepEqual(control.calls, [['reloadModels', config + config]]);
  });

  it('says how much each metric that is named rose', async () => {
    let value = 3;
    readings.metrics = () =>
      Promise.resolve(
        Buffer.from(
          `# TYPE :tensorflow:serving:request_count counter\n` +
            `:tensorflow:serving:request_count{model_name="m"} ${value++}\n`,
        ),
      );
    const { metric } = (await answered(
      'HandleReloadConfigRequest',
      encoded('ReloadConfigRequest', {
        config: CONFIG,
        metric_names: ['/tensorflow/serving/request_count', '/nope', '/nope'],
      }),
      'ReloadConfigResponse',
    )) as { metric: object[] };
    assert.deepEqual(metric, [
      { name: '/tensorflow/serving/request_count', int64_value_increase: '1' },
      { name: '/nope', int64_value_increase: '0' },
    ]);
  });

  it('fails as the load does', async () => {
    control.error = new ServalError(ErrorCode.ModelInvalid, "load failed for model 'a': why");
    assert.deepEqual(
      outcome(
        await call('HandleReloadConfigRequest', encoded('ReloadConfigRequest', { config: CONFIG })),
      ),
      [9, "load failed for model 'a': why"],
    );
    assert.deepEqual(outcome(await call('HandleReloadConfigRequest', Buffer.from('0a05', 'hex'))), [
      3,
      'ReloadConfigRequest: byte 0: field 1: expected 5 bytes, but only 0 remain',
    ]);
  });
});
