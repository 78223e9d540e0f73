// The URLs, methods and bodies of the shared memory extensions over REST.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sharedMemoryEndpoint } from '../../../../../ts/protocols/v2/shared-memory/rest.js';
import { CUDA_REGION, FakeControl, REGION } from '../../../server/admin/fake-control.js';
import { ask, type Sent } from '../../fake-http.js';

const SYSTEM = '/v2/systemsharedmemory';
const CUDA = '/v2/cudasharedmemory';

function setUp() {
  const control = new FakeControl();
  const context = {
    control,
    bodyBytesMax: 1000,
    inflatedBytesMax: 1000,
    held: { change: () => undefined, take: () => true, keep: () => true },
  };
  const send = async (method: 'GET' | 'POST', path: string, body = ''): Promise<Sent> => {
    const route = sharedMemoryEndpoint(context, path)?.[method]?.();
    assert.ok(route, `${method} ${path} has no route`);
    return ask(route, { method, path, ...(body === '' ? {} : { body: [body] }) });
  };
  const refused = async (path: string, body: string, status: number, text: RegExp) => {
    const sent = await send('POST', path, body);
    assert.equal(sent.status, status, sent.body);
    assert.match(sent.body, text);
  };
  return { control, context, send, refused };
}

describe('system shared memory over REST', () => {
  it('registers, with and without an offset', async () => {
    const { control, send } = setUp();
    const url = `${SYSTEM}/region/a%2Fb/register`;
    const first = await send('POST', url, '{"key":"/k","offset":8,"byte_size":64,"more":[]}');
    assert.deepEqual([first.status, first.body], [200, '']);
    await send('POST', `${SYSTEM}/region/r/register`, '{"key":"k","byte_size":1}');
    assert.deepEqual(control.calls, [
      ['registerSharedRegion', { ...REGION, name: 'a/b' }],
      ['registerSharedRegion', { name: 'r', key: 'k', offset: 0, byte_size: 1 }],
    ]);
  });

  it('lists and forgets one or all', async () => {
    const { control, send } = setUp();
    for (const path of [`${SYSTEM}/status`, `${SYSTEM}/region/r/status`]) {
      const { status, body } = await send('GET', path);
      assert.deepEqual([status, JSON.parse(body)], [200, [REGION]]);
    }
    assert.equal((await send('POST', `${SYSTEM}/unregister`)).status, 200);
    assert.equal((await send('POST', `${SYSTEM}/region/r/unregister`, '{}')).status, 200);
    assert.deepEqual(control.calls, [
      ['sharedRegions', ''],
      ['sharedRegions', 'r'],
      ['unregisterSharedRegion', ''],
      ['unregisterSharedRegion', 'r'],
    ]);
  });

  it('refuses what is no region, before anybody is asked', async () => {
    const { control, refused } = setUp();
    const url = `${SYSTEM}/region/r/register`;
    const cases: readonly (readonly [string, RegExp])[] = [
      ['{"byte_size":64}', /key: expected a string/],
      ['{"key":7,"byte_size":64}', /key: expected a string, got a number/],
      ['{"key":"k"}', /byte_size: expected a whole number/],
      ['{"key":"k","byte_size":"64"}', /byte_size: expected a whole number, got a string/],
      ['{"key":"k","byte_size":-1}', /byte_size: .*got -1/],
      ['{"key":"k","byte_size":1.5}', /byte_size: .*got 1\.5/],
      ['{"key":"k","byte_size":18446744073709551584}', /from 0 to 9007199254740991/],
      ['{"key":"k","byte_size":1,"offset":true}', /offset: expected a whole number/],
      ['[]', /request body: expected an object/],
      ['{', /not valid JSON/],
    ];
    for (const [body, text] of cases) {
      await refused(url, body, 400, text);
    }
    assert.deepEqual(control.calls, []);
  });

  it('has these paths and no others', () => {
    const { context } = setUp();
    for (const path of [
      `${SYSTEM}/register`,
      `${SYSTEM}`,
      `${SYSTEM}/region/r`,
      `${SYSTEM}/region/r/s/status`,
      `${SYSTEM}/region//status`,
      `${CUDA}/register`,
      '/v2/sharedmemory/status',
    ]) {
      assert.equal(sharedMemoryEndpoint(context, path), undefined, path);
    }
    const status = sharedMemoryEndpoint(context, `${SYSTEM}/status`);
    assert.deepEqual([status?.call.changes, status?.POST], [false, undefined]);
    const register = sharedMemoryEndpoint(context, `${SYSTEM}/region/r/register`);
    assert.deepEqual([register?.call.changes, register?.GET], [true, undefined]);
    assert.equal(register?.call.group, 'shared-memory');
    assert.equal(sharedMemoryEndpoint(context, `${SYSTEM}/unregister`)?.call.changes, true);
  });
});

describe('CUDA shared memory over REST', () => {
  const handle = Buffer.alloc(64, 7);
  const register = (members: object): string =>
    JSON.stringify({
      raw_handle: { b64: handle.toString('base64') },
      device_id: 1,
      byte_size: 4096,
      ...members,
    });

  it('registers, lists and forgets', async () => {
    const { control, send } = setUp();
    const text = handle.toString('base64');
    const inLines = { b64: `${text.slice(0, 72)}\n${text.slice(72)}\n` }; // Triton's C++ client
    for (const members of [{ more: 1 }, { raw_handle: inLines }]) {
      const registered = await send('POST', `${CUDA}/region/c/register`, register(members));
      assert.deepEqual([registered.status, registered.body], [200, '']);
    }
    for (const path of [`${CUDA}/status`, `${CUDA}/region/c/status`]) {
      const { status, body } = await send('GET', path);
      assert.deepEqual([status, JSON.parse(body)], [200, [CUDA_REGION]]);
    }
    assert.equal((await send('POST', `${CUDA}/unregister`)).status, 200);
    assert.equal((await send('POST', `${CUDA}/region/c/unregister`)).status, 200);
    assert.deepEqual(control.calls, [
      ['registerCudaRegion', CUDA_REGION, handle.toString('hex')],
      ['registerCudaRegion', CUDA_REGION, handle.toString('hex')],
      ['cudaRegions', ''],
      ['cudaRegions', 'c'],
      ['unregisterCudaRegion', ''],
      ['unregisterCudaRegion', 'c'],
    ]);
  });

  it('refuses what is no region, before anybody is asked', async () => {
    const { control, refused } = setUp();
    const url = `${CUDA}/region/c/register`;
    for (const [members, text] of [
      [{ raw_handle: undefined }, /raw_handle: expected an object with b64/],
      [{ raw_handle: 'AAAA' }, /raw_handle: expected an object with b64, got a string/],
      [{ raw_handle: {} }, /raw_handle\.b64: expected a string with base64/],
      [
        { raw_handle: { b64: 'A*==' } },
        /raw_handle\.b64: expected base64, got an invalid character/,
      ],
      [{ device_id: -1 }, /device_id: .*got -1/],
      [{ device_id: '0' }, /device_id: expected a whole number, got a string/],
      [{ byte_size: 1.5 }, /byte_size: .*got 1\.5/],
    ] as const) {
      await refused(url, register(members), 400, text);
    }
    assert.deepEqual(control.calls, []);
  });
});
