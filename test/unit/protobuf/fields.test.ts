// The generated numbers of fields and enum values equal those in proto/wire. The schemas are read
// here line by line, not with the generator's parser. Test time only.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as inference from '../../../ts/protobuf/generated/inference-fields.js';
import { MAP_ENTRY } from '../../../ts/protobuf/generated/map-entry-fields.js';
import * as onnx from '../../../ts/protobuf/generated/onnx-fields.js';
import * as predictionLog from '../../../ts/protobuf/generated/prediction-log-fields.js';
import * as serving from '../../../ts/protobuf/generated/tensorflow-serving-fields.js';
import * as example from '../../../ts/protobuf/generated/tensorflow-example-fields.js';
import * as tensorflow from '../../../ts/protobuf/generated/tensorflow-fields.js';
import * as wrappers from '../../../ts/protobuf/generated/wrappers-fields.js';

const root = ['../../..', '../../../..']
  .map((up) => fileURLToPath(new URL(up, import.meta.url)))
  .find((folder) => existsSync(join(folder, 'proto/wire')));
const read = (path: string) => readFileSync(join(root ?? '', path), 'utf8');

// "ModelInferRequest.InferInputTensor.name" -> 1, with words in lower case and without underscores:
// each language writes them in its own style.
const plain = (name: string) => name.replaceAll('_', '').toLowerCase();

function numbersOf(text: string, opens: RegExp, row: RegExp, closes: RegExp): Map<string, number> {
  const numbers = new Map<string, number>();
  const open: string[] = [];
  for (const line of text.split('\n')) {
    const [opened, found] = [opens.exec(line), row.exec(line)];
    if (opened !== null) open.push(opened[1] ?? '');
    else if (found !== null) {
      numbers.set(
        plain([...open, found[1]].filter((name) => name !== '').join('.')),
        +(found[2] ?? NaN),
      );
    } else if (closes.test(line)) open.pop();
  }
  return numbers;
}

function schemaNumbers(source: string): Map<string, number> {
  const field = /^\s*(?:repeated )?(?:map<.*?> )?(?:[\w.]+ )??(\w+) = (\d+)\b.*;$/;
  return numbersOf(
    read(`proto/wire/${source}.proto`),
    /^\s*(?:message|enum) (\w+) \{$|^\s*oneof \w+ \{$|^service/,
    field,
    /^\s*\}$/,
  );
}

function typescriptNumbers(module: Record<string, Record<string, number>>): Map<string, number> {
  const rows = Object.entries(module).flatMap(([message, fields]) =>
    Object.entries(fields).map(([name, number]) => [plain(message + name), number] as const),
  );
  return new Map(rows);
}

const joined = (numbers: Map<string, number>) =>
  [...numbers].map(([name, number]) => `${name.replaceAll('.', '')} = ${number}`).sort();

const MODULES = {
  inference,
  onnx,
  prediction_log: predictionLog,
  tensorflow,
  tensorflow_example: example,
  tensorflow_serving: serving,
  wrappers,
};

for (const [source, module] of Object.entries(MODULES)) {
  test(`the numbers of ${source}.proto are the same in C++ and TypeScript`, () => {
    const schema = joined(schemaNumbers(source));
    assert.ok(schema.length > 2, schema.join());
    assert.deepEqual(joined(typescriptNumbers(module)), schema);
    const header = read(`native/base/bytes/generated/${source}.h`);
    const cpp = numbersOf(
      header,
      /^namespace (?!serval::)(\w+) \{$/,
      /^inline constexpr uint32_t k(\w+) = (\d+);$/,
      /^\}/,
    );
    assert.deepEqual(joined(cpp), schema);
  });
}

test('an entry of a map has the numbers that protobuf gives it', () => {
  assert.deepEqual(MAP_ENTRY, { key: 1, value: 2 });
  assert.match(read('native/base/bytes/generated/map_entry.h'), /kKey = 1;\n.*kValue = 2;\n/);
});
