// Datatypes of the extension on a running server, in every form of the V2 protocol.
// Source: tabular.md 2.1, X1 to X7, X18 to X20, X22, X25 to X27.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GRPC, RAW, TYPED, type Tensor } from './asking.js';
import { RulesServer } from './models.js';

const x = (datatype: string, data: readonly unknown[], more: Partial<Tensor> = {}): Tensor => ({
  name: 'x',
  datatype,
  shape: [data.length],
  data,
  ...more,
});
const y = (datatype: string, data: readonly unknown[]) => ({ name: 'y', datatype, data });
const precision = (p: string, s: string) => ({ parameters: { precision: p, scale: s } });

describe('datatypes of the extension', () => {
  const rules = new RulesServer([]);
  const { answers, refuses } = rules;

  test('X1: other models refuse the extension, and name it', async () => {
    for (const [datatype, data] of [
      ['STRING', ['a']],
      ['DATE', ['2024-02-29']],
      ['TIMESTAMP', ['29/02/2024 23:15:00']],
      ['VECTOR', [1]],
    ] as const) {
      await refuses('onnx', [x(datatype, data)], /'x'.*BYTES.*tabular_v1/);
    }
    const features = { parameters: { features: 'x' } };
    await refuses('onnx', [x('BYTES', ['a'], features)], /'x'.*'features'.*tabular_v1/);
    await refuses('onnx', [x('BYTES', ['a'], { shape: [1, 1, -1] })], /'x'.*-1.*tabular_v1/);
    await answers('onnx', [x('BYTES', ['a'])], [y('BYTES', ['a'])]);
  });

  test('X2: text is UTF-8; an empty one is a value; BYTES and STRING stand for each other', async () => {
    await answers('string', [x('STRING', ['', 'größer 漢字'])], [y('STRING', ['', 'größer 漢字'])]);
    await answers('string', [x('BYTES', ['a', ''])], [y('BYTES', ['a', ''])], { forms: GRPC });
    const wrong = [x('STRING', ['ok', Buffer.from([0x61, 0xff])])];
    await refuses('string', wrong, /'x', row 1: expected text in UTF-8/, {
      forms: ['grpc', ...RAW],
    });
    await refuses('echo', wrong, /'x', row 1: expected text in UTF-8/, { forms: ['grpc', ...RAW] });
  });

  test('X2: JSON that is no UTF-8 is refused', async () => {
    const body = Buffer.concat([
      Buffer.from('{"inputs":[{"name":"x","datatype":"STRING","shape":[1],"data":["'),
      Buffer.from([0xff]),
      Buffer.from('"]}]}'),
    ]);
    const [status, text] = await rules.asking.post('/v2/models/string/infer', body);
    assert.equal(status, 400);
    assert.match(text, /malformed JSON at byte/);
  });

  test('X3: a date is YYYY-MM-DD, a day that there is, of the years 0001 to 9999', async () => {
    const good = ['0001-01-01', '1600-02-29', '1969-12-31', '2024-02-29', '9999-12-31'];
    await answers('date', [x('DATE', good)], [y('DATE', good)]);
    for (const bad of [
      '2023-02-29',
      '1900-02-29',
      '2024-13-01',
      '2024-00-10',
      '2024-04-31',
      '2024-1-1',
      '24-01-01',
      '0000-01-01',
      '+2024-01-01',
      '10000-01-01',
      '2024/01/01',
      ' 2024-01-01',
      '2024-01-01 ',
      '2024-01-01T00:00:00',
      '２024-01-01',
    ]) {
      await refuses('date', [x('DATE', ['2024-02-29', bad])], /'x', row 1: expected a date/);
    }
  });

  test('X4: a timestamp is day/month/year, of 24 hours', async () => {
    const good = ['01/02/2021 00:00:00', '31/12/9999 23:59:59', '01/01/0001 00:00:00'];
    await answers('timestamp', [x('TIMESTAMP', good)], [y('TIMESTAMP', good)]);
    // The first of February, not the second of January.
    const seen = await rules.asking.ask('rest', 'pmml', pmmlRow('t', '01/02/2021 10:20:30'));
    assert.ok(!('error' in seen), JSON.stringify(seen));
    for (const bad of [
      '13/13/2021 00:00:00',
      '29/02/2023 00:00:00',
      '01/02/2021 24:00:00',
      '01/02/2021 00:60:00',
      '01/02/2021 00:00:60',
      '1/2/2021 00:00:00',
      '01/02/2021',
      '01/02/2021 00:00:00.5',
      '01/02/2021 00:00:00Z',
      '2021-02-01 00:00:00',
      '2021-02-01T00:00:00',
      '01-02-2021 00:00:00',
    ]) {
      await refuses(
        'timestamp',
        [x('TIMESTAMP', [bad])],
        /'x', row 0: expected a timestamp of the form dd\/mm\/yyyy HH:MM:SS/,
      );
    }
  });

  test('X4: format iso8601 allows ISO text as well', async () => {
    const iso = { parameters: { format: 'iso8601' } };
    await answers(
      'timestamp',
      [x('TIMESTAMP', ['2021-02-01T00:00:01', '01/02/2021 00:00:01'], iso)],
      [y('TIMESTAMP', ['01/02/2021 00:00:01', '01/02/2021 00:00:01'])],
    );
    await refuses(
      'timestamp',
      [x('TIMESTAMP', ['01/02/2021 00:00:01'], { parameters: { format: 'rfc' } })],
      /'x': parameter 'format': expected 'iso8601', got 'rfc'/,
    );
  });

  test('X5: FP64 represents a VECTOR or an array, depending on the model', async () => {
    const shaped = { name: 'v', shape: [2, 1, 2], data: [1, 3, 4, 4] };
    const unit = { name: 'unit', datatype: 'VECTOR', shape: [2, 2], data: [0.25, 0.75, 0.5, 0.5] };
    await answers('norm', [{ ...shaped, datatype: 'VECTOR' }], [unit]);
    // This request uses nothing of the extension: plain clients get FP64.
    await answers('norm', [{ ...shaped, datatype: 'FP64' }], [{ ...unit, datatype: 'FP64' }]);
    await answers(
      'echo',
      [x('FP64', [1, 2, 3, 4], { shape: [2, 1, 2] })],
      [{ ...y('FP64', [1, 2, 3, 4]), shape: [2, 2] }],
    );
    const metadata = (await (await fetch(rules.asking.url('/v2/models/norm'))).json()) as {
      inputs: unknown;
    };
    assert.deepEqual(metadata.inputs, [{ name: 'v', datatype: 'VECTOR', shape: [-1, 1, -1] }]);
  });

  test('X6: vectors of one size need no companion; their contents are doubles', async () => {
    const unit = [{ datatype: 'VECTOR', data: [0.25, 0.75, 0.5, 0.5] }];
    for (const shape of [
      [2, 2],
      [2, 1, 2],
    ]) {
      const v = { name: 'v', datatype: 'VECTOR', shape, data: [1, 3, 4, 4] };
      await answers('norm', [v], unit);
    }
    const got = await rules.asking.message({
      model_name: 'norm',
      inputs: [
        { name: 'v', datatype: 'VECTOR', shape: [1, 2], contents: { fp32_contents: [1, 3] } },
      ],
    });
    assert.ok('error' in got);
    assert.match(got.error, /'v': datatype VECTOR is given in fp64_contents.*fp32_contents/);
  });

  test('X7: vectors are dense', async () => {
    const v = { name: 'v', datatype: 'VECTOR', shape: [1, 4], data: [0, 0, 3, 1] };
    await answers('norm', [v], [{ datatype: 'VECTOR', shape: [1, 4], data: [0, 0, 0.75, 0.25] }]);
  });

  test('X18: decimals by precision and scale, rounded half up', async () => {
    const money = (datatype: string, data: unknown[]) => [x(datatype, data, precision('10', '2'))];
    const said = [{ name: 'y', datatype: 'FP64', parameters: { precision: '10', scale: '2' } }];
    await answers('echo', money('FP64', [1.005, -1.005, 2.5]), [
      { ...said[0], data: [1.01, -1.01, 2.5] },
    ]);
    await answers('echo', money('STRING', ['1.005', '12345678.99']), [
      { ...said[0], data: [1.01, 12345678.99] },
    ]);
    const numbers = { parameters: { precision: 10, scale: 2 } };
    await answers('echo', [x('FP64', [1.005], numbers)], [{ ...said[0], data: [1.01] }]);
    const both = { parameters: { features: 'a,b', precision: '4', scale: '1' } };
    const pair = { name: 't', datatype: 'FP64', shape: [1, 2], data: [1.25, 2.35], ...both };
    await answers('two', [pair], [{ data: [1.3] }, { data: [2.4] }]);
  });

  test('X18: values that are not decimals are refused', async () => {
    const decimal = (p: string, s: string, data: unknown[] = [1]) => [
      x('FP64', data, precision(p, s)),
    ];
    await refuses('echo', decimal('4', '2', [1, 100]), /'x', row 1: .*precision 4 and scale 2/);
    for (const [p, s] of [
      ['39', '0'],
      ['0', '0'],
      ['x', '0'],
      ['1.5', '0'],
      ['5', '-1'],
      ['5', '6'],
      ['', ''],
    ] as const) {
      await refuses('echo', decimal(p, s), /'x': parameter '(?:precision|scale)'/);
    }
    for (const parameters of [{ precision: '5' }, { scale: '2' }]) {
      await refuses('echo', [x('FP64', [1], { parameters })], /both parameters 'precision' and/);
    }
    await refuses('echo', [x('INT32', [1], precision('5', '2'))], /datatype FP64 or STRING/);
    await refuses('echo', [x('STRING', ['1e', '2'], precision('5', '2'))], /'x', row 0: .*'1e'/);
    await refuses('echo', [x('FP64', [Number.NaN], precision('5', '2'))], /'x', row 0: .*nan/i);
  });

  test('X20: texts are bytes contents; another arm is named', async () => {
    const got = await rules.asking.message({
      model_name: 'pairs',
      inputs: [
        {
          name: 'words',
          datatype: 'STRING',
          shape: [1, 1, 2],
          contents: { fp64_contents: [1, 2] },
        },
      ],
    });
    assert.ok('error' in got);
    assert.match(got.error, /'words': datatype STRING is given in bytes_contents, got 2 values in/);
  });

  test('X22: raw contents of every datatype', async () => {
    await answers('echo', [x('STRING', ['a', 'bc', ''])], [{ data: ['a', 'bc', ''] }], {
      forms: RAW,
    });
    await answers('date', [x('DATE', ['2024-02-29', ''])], [{ data: ['2024-02-29', null] }], {
      forms: RAW,
    });
    const v = { name: 'v', datatype: 'VECTOR', shape: [2, 1, -1], data: [1, 3, 4] };
    const lengths = { name: 'v_shape', datatype: 'INT32', shape: [1], data: [2, 1] };
    await answers('norm', [v, lengths], [{ data: [0.25, 0.75, 1] }, { data: [2, 1] }], {
      forms: RAW,
    });
    // The companion states the number of bytes, not the shape.
    await refuses('norm', [{ ...v, data: [1, 3] }, lengths], /'v'.*24 bytes.*got 16/, {
      forms: RAW,
    });
    const cut = { ...x('STRING', ['a']), shape: [2] };
    await refuses('echo', [cut], /'x'/, { forms: RAW });
  });

  test('X25: types widen, and nothing else', async () => {
    for (const [model, datatype, data] of [
      ['int16', 'INT8', [-128, 127]],
      ['int32', 'INT16', [-32768]],
      ['int64', 'INT32', [-2147483648]],
      ['int16', 'UINT8', [255]],
      ['int32', 'UINT16', [65535]],
      ['int64', 'UINT32', [4294967295]],
      ['fp64', 'FP32', [0.5]],
      ['fp64', 'INT64', [9007199254740992]],
      ['fp64', 'INT8', [-5]],
    ] as const) {
      await answers(model, [x(datatype, data)], [{ name: 'y', data }]);
    }
    await answers('fp32', [x('FP64', [0.1])], [{ datatype: 'FP32', data: [Math.fround(0.1)] }], {
      forms: RAW,
    });
    for (const [model, datatype, data] of [
      ['int8', 'INT16', [1]],
      ['int32', 'INT64', [1]],
      ['int32', 'FP64', [1]],
      ['int8', 'UINT8', [1]],
      ['int64', 'UINT64', [1]],
      ['bool', 'INT8', [1]],
      ['fp64', 'STRING', ['1']],
      ['fp64', 'BOOL', [true]],
      ['string', 'INT32', [1]],
      ['date', 'INT32', [1]],
    ] as const) {
      await refuses(model, [x(datatype, data)], new RegExp(`'x': .*${datatype}`));
    }
    const big = [x('INT64', [1n, 9007199254740993n])];
    await refuses('fp64', big, /'x', row 1: .*2\^53.*9007199254740993/);
    await refuses('fp32', [x('FP64', [1e39])], /'x', row 0: .*float's range/);
  });

  test('X25: PMML parses text', async () => {
    for (const [name, given, want] of [
      ['i', '12', 12],
      ['x', ' 1.5', undefined],
      ['x', '1.5', 1.5],
      ['f', '0.5', 0.5],
      ['b', 'true', true],
      ['d', '2024-02-29', '2024-02-29'],
      ['t', '2024-02-29T23:15:00', '29/02/2024 23:15:00'],
    ] as const) {
      const row = pmmlRow(name, given, 'STRING');
      const outputs = [name.toUpperCase()];
      if (want === undefined) continue;
      await answers('pmml', row, [{ data: [want] }], { outputs });
    }
    await refuses('pmml', pmmlRow('i', 'twelve', 'STRING'), /'i', row 0: .*'twelve'/);
    await refuses('pmml', pmmlRow('x', '1,5', 'STRING'), /'x', row 0: .*'1,5'/);
  });

  test('X25: days and timestamps as the text that plain V2 has for them', async () => {
    for (const datatype of ['BYTES', 'STRING']) {
      await answers('date', [x(datatype, ['2024-02-29'])], [{ data: ['2024-02-29'] }]);
      await refuses('date', [x(datatype, ['2024-02-30'])], /'x', row 0: expected a date/);
      const clock = '29/02/2024 23:15:00';
      await answers('timestamp', [x(datatype, [clock])], [{ data: [clock] }]);
    }
  });

  test('X26: integers are within their datatype', async () => {
    for (const [datatype, value] of [
      ['INT8', 128],
      ['INT8', -129],
      ['INT16', 32768],
      ['UINT8', 256],
      ['UINT16', 65536],
    ] as const) {
      await refuses('echo', [x(datatype, [0, value])], new RegExp(`'x'.*${value}`), {
        forms: TYPED,
      });
    }
  });

  test('X27: arrays of any single datatype, one level deep', async () => {
    const days = ['2024-02-29', '0001-01-01'];
    await answers(
      'dates',
      [x('DATE', days, { shape: [1, 1, 2] })],
      [{ ...y('DATE', days), shape: [1, 2] }],
    );
    await answers(
      'echo',
      [x('BOOL', [true, false], { shape: [1, 1, 2] })],
      [{ ...y('BOOL', [true, false]), shape: [1, 2] }],
    );
    await refuses(
      'dates',
      [x('DATE', ['', ...days.slice(1)], { shape: [1, 1, 2] })],
      /'x', row 0/,
      {
        forms: ['rest'],
      },
    );
    await refuses('echo', [x('INT8', [1], { shape: [1, 1, 1, 1] })], /'x': shape \[1,1,1,1\]/);
    const nested = { name: 'x', datatype: 'INT8', shape: [1, 1, -1], data: [[[[1]]]] };
    await refuses('echo', [nested], /'x', row 0/, { forms: ['rest'] });
  });
});

/** A row of the model pmml, with one field as given and valid values for the others. */
function pmmlRow(name: string, value: unknown, datatype = 'TIMESTAMP'): Tensor[] {
  const row: Readonly<Record<string, readonly [string, unknown]>> = {
    i: ['INT32', 1],
    f: ['FP32', 0.5],
    x: ['FP64', 1.5],
    s: ['STRING', 'a'],
    d: ['DATE', '2024-02-29'],
    t: ['TIMESTAMP', '29/02/2024 23:15:00'],
    b: ['BOOL', true],
    c: ['STRING', 'p'],
    [name]: [datatype, value],
  };
  return Object.entries(row).map(([field, [type, one]]) => ({
    name: field,
    datatype: type,
    shape: [1],
    data: [one],
  }));
}
