// The text of `serval types`: names that are no identifiers, free dimensions, optional inputs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declarationsOf } from '../../../../ts/cli/types/declarations.js';

const tensor = (name: string, datatype: string, shape: readonly number[]) => ({
  name,
  datatype,
  shape,
});

test('declares models by name, with quoted names and optional inputs', () => {
  const one = {
    name: 'two-towers',
    versions: ['1'],
    platform: 'onnx */ x\n',
    inputs: [tensor('user id', 'INT64', [-1, 2]), tensor('mask', 'BOOL', [])],
    outputs: [tensor('mask', 'FP32', [-1])],
  };
  const two = { name: 'iris', versions: [], platform: '', inputs: [], outputs: [] };
  const text = declarationsOf('http://host/*/', [
    { metadata: one, optional: new Set(['mask']) },
    { metadata: two, optional: new Set() },
  ]);
  const wanted = `// Written by \`serval types http://host/* /\`; run it again after the models have changed.
// With the package's client: new V2Client<Models>(url), new GrpcClient<Models>(target).

export interface Models {
  iris: {
    inputs: {
    };
    outputs: {
    };
  };
  /** onnx * / x  */
  "two-towers": {
    inputs: {
      "user id": { datatype: "INT64"; shape: [number, 2] };
      mask?: { datatype: "BOOL"; shape: [] };
    };
    outputs: {
      mask: { datatype: "FP32"; shape: [number] };
    };
  };
}
`;
  assert.equal(text, wanted);
});
