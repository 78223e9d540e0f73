// Clients of the extension that share nothing with this project: a client built from the proto text
// of the protocol's own page sends the examples of the extension's page, with their mistakes
// corrected as tabular.md says. The pages are beside the checkout; without them the suite is
// skipped.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import protobuf from 'protobufjs';
import { packageRoot } from '../../../../ts/base/package-files.js';
import { RawClient } from '../../../unit/protocols/raw-client.js';
import { type ServalProcess, startServer } from '../../../e2e/support/serval-process.js';
import { INFER } from './asking.js';
import { valuesOf } from './contents.js';
import { Repository, schemaOf, stages, statement } from './models.js';

const SEEDS = ['shared', '../shared', '../../shared']
  .map((each) => join(packageRoot(), each, 'spec', 'seeds'))
  .find(existsSync);

/** Reads the page whose name begins with `start`. */
function page(start: string): string {
  const folder = SEEDS ?? '';
  const name = readdirSync(folder).find((each) => each.startsWith(start)) ?? '';
  return readFileSync(join(folder, name), 'utf8');
}

/** Joins the page's listings, whose lines have numbers, into one .proto file. */
function protoOf(text: string): string {
  const listing = text.slice(text.indexOf('The GRPC definition of the service is:'));
  const own = [...listing.matchAll(/^ {2}\d+\. (.*)$/gm)].map(([, line = '']) => line);
  assert.ok(own.length > 200, `${own.length} lines of proto`);
  return `syntax = "proto3";\npackage inference;\n${own.join('\n')}\n`;
}

/**
 * The examples of the page: the tensors of each fence. Its JSON lacks commas (X21), has b"" for
 * bytes and text in `fp64Contents` (X20), placeholders for values, and bare strings for the oneof
 * of a parameter (X15).
 */
function examplesOf(text: string): object[][] {
  return [...text.matchAll(/^```\n(\{[\s\S]*?)^```/gm)].map(([, fence = '']) => {
    const json = fence
      .replaceAll(/("|\])(\s*\n\s*")/g, '$1,$2')
      .replaceAll('b"', '"')
      .replaceAll('<BYTE CONTENT in UTF-8 FORMAT>', '"größer"')
      .replaceAll('YYYY-MM-DD', '2024-02-29')
      .replaceAll('dd/mm/yyyy HH:MM:SS', '29/02/2024 23:15:00')
      .replaceAll(/"fp64Contents"(?=: \[ ")/g, '"bytesContents"');
    const tensors = JSON.parse(`[${json}]`) as Example[];
    return tensors.map(({ parameters = {}, contents, ...tensor }) => ({
      ...tensor,
      parameters: Object.fromEntries(
        Object.entries(parameters).map(([key, value]) => [key, { stringParam: value }]),
      ),
      contents: Object.fromEntries(
        Object.entries(contents).map(([arm, values]) => [
          arm.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase()),
          values.map((one) => (typeof one === 'string' ? Buffer.from(one) : one)),
        ]),
      ),
    }));
  });
}

interface Example {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly contents: Readonly<Record<string, readonly unknown[]>>;
}

interface Answered {
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly unknown[];
  }[];
  readonly rawOutputContents: readonly Uint8Array[];
}

/** A statement that returns its columns unchanged. */
const same = (...fields: readonly string[]): Record<string, string> =>
  statement(`SELECT *, ${fields.map((one) => `${one} AS ${one}_out`).join(', ')} FROM __THIS__`);

/**
 * The models that the page's examples would be sent to, and their responses: name, datatype and
 * shape, then strings, or else doubles or 32-bit integers.
 */
const MODELS: readonly (readonly [string, Record<string, string>, readonly unknown[]])[] = [
  ['string', same('my_string_col'), [['STRING', [1], ['string data in bytes format']]]],
  ['date', same('my_date_col'), [['DATE', [1], ['2024-02-29']]]],
  ['timestamp', same('my_timestamp_col'), [['TIMESTAMP', [1], ['29/02/2024 23:15:00']]]],
  [
    'vector',
    stages(['feature.Normalizer', { inputCol: 'my_vector_col', outputCol: 'unit', p: 1 }]),
    [
      ['VECTOR', [2, 1, -1], [1 / 6, 2 / 6, 3 / 6, 4 / 9, 5 / 9]],
      ['INT32', [1], [3, 2]],
    ],
  ],
  ['decimal', same('my_decimal_col'), [['FP64', [2], [10.12, 20]]]],
  ['utf8', same('my_string_col'), [['STRING', [1], ['größer']]]],
  ['one_field', same('my_int_col'), [['INT32', [4], [10, 19, 76, 4]]]],
  [
    'three_fields',
    same('my_fp64_col1', 'my_fp64_col2', 'my_fp64_col3'),
    [
      ['FP64', [1], [1.01]],
      ['FP64', [1], [1.02]],
      ['FP64', [1], [1.03]],
    ],
  ],
  [
    'two_fields',
    same('my_int_col1', 'my_int_col2'),
    [
      ['INT32', [3], [10, 20, 30]],
      ['INT32', [3], [11, 21, 31]],
    ],
  ],
  [
    'array',
    same('my_array_col'),
    [
      ['FP64', [3, 1, -1], [1, 2, 3, 4, 5, 6]],
      ['INT32', [1], [3, 2, 1]],
    ],
  ],
  [
    'two_arrays',
    {
      ...same('my_array_col1', 'my_array_col2'),
      ...schemaOf('my_array_col1 STRING [-1,1,-1]', 'my_array_col2 STRING [-1,1,-1]'),
    },
    [
      ['STRING', [2, 1, -1], ['string1', 'string2', 'string4', 'string5', 'string6']],
      ['INT32', [1], [2, 3]],
      ['STRING', [2, 1, -1], ['string3', 'string7', 'string8']],
      ['INT32', [1], [1, 2]],
    ],
  ],
  [
    'schema',
    same('my_field_col1', 'my_field_col2', 'my_field_col3'),
    [
      ['FP64', [1], [0.1]],
      ['STRING', [1], ['first content']],
      ['STRING', [1], ['second content']],
    ],
  ],
];

describe("the extension's own page", () => {
  if (SEEDS === undefined) {
    test('all examples', { skip: '../shared/spec/seeds is not there' });
    return;
  }
  const proto = protoOf(page('001'));
  const examples = examplesOf(page('003'));
  const repository = new Repository(
    Object.fromEntries(MODELS.map(([name, files]) => [name, files])),
  );
  let server: ServalProcess;
  let client: RawClient;
  before(async () => {
    server = await startServer([repository.folder]);
    client = new RawClient(server.grpcPort);
  });
  after(async () => {
    client.close();
    await server.stop();
    repository.remove();
  });

  /** Sends a request with types from the page's proto text. */
  const infer = async (root: protobuf.Root, request: object): Promise<Answered> => {
    const asked = root.lookupType('inference.ModelInferRequest');
    assert.equal(asked.verify(request), null);
    const bytes = Buffer.from(asked.encode(asked.create(request)).finish());
    const { details, message } = await client.unary(INFER, bytes);
    assert.ok(message !== undefined, details);
    const answered = root.lookupType('inference.ModelInferResponse');
    return answered.toObject(answered.decode(message), { arrays: true }) as unknown as Answered;
  };

  const { root } = protobuf.parse(proto);
  test('all examples are there', () => assert.equal(examples.length, MODELS.length));
  for (const [i, [name, , expected]] of MODELS.entries()) {
    test(`X21: example ${i + 1}, ${name}`, async () => {
      const answer = await infer(root, { modelName: name, inputs: examples[i] ?? [] });
      const got = answer.outputs.map(({ datatype, shape }, k) => [
        datatype,
        shape.map(Number),
        valuesOf(datatype, Buffer.from(answer.rawOutputContents[k] ?? [])),
      ]);
      assert.deepEqual(got, expected);
    });
  }

  test('X19: members as protobuf or as its JSON calls them', async () => {
    const kept = protobuf.parse(proto, { keepCase: true }).root;
    const contents = { int_contents: [10, 19, 76, 4] };
    const tensor = { name: 'my_int_col', datatype: 'INT32', shape: [4], contents };
    const sent = await infer(kept, { model_name: 'one_field', inputs: [tensor] });
    assert.deepEqual(
      sent.outputs.map((one) => one.name),
      ['my_int_col_out'],
    );
  });
});
