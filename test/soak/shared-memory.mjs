// Clients with tensors in shared memory: regions are registered and unregistered, and some are
// truncated while they are registered. Test time only.
import { closeSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { bytesOf, floatsOf } from '../../bench/bodies.mjs';
import { pause } from './options.mjs';

const REGIONS = '/v2/systemsharedmemory';
const MODEL = 'half_plus_three';
const VALUES_MAX = 20_000;

/** One region with an input followed by an output. Throws what is wrong. Resolves to responses. */
async function useRegion(connections, random, name) {
  const key = `serval-soak-${process.pid}`;
  const data = Float32Array.from({ length: random.int(1, VALUES_MAX) }, () => random.int(-99, 99));
  const bytes = data.byteLength;
  const file = openSync(`/dev/shm/${key}`, 'w+', 0o600);
  try {
    writeSync(file, bytesOf(data), 0, bytes, 0);
    ftruncateSync(file, 2 * bytes);
    const region = `${REGIONS}/region/${name}`;
    const place = JSON.stringify({ key, offset: 0, byte_size: 2 * bytes });
    await connections.json(`${region}/register`, place);
    const at = (offset) => ({
      shared_memory_region: name,
      shared_memory_byte_size: bytes,
      shared_memory_offset: offset,
    });
    const body = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [data.length], parameters: at(0) }],
      outputs: [{ name: 'y', parameters: at(bytes) }],
    });
    let served = 0;
    for (let times = random.int(1, 5); times > 0; times -= 1) {
      await connections.json(`/v2/models/${MODEL}/infer`, body);
      served += 1;
      const got = Buffer.alloc(bytes);
      readSync(file, got, 0, bytes, bytes);
      const wrong = floatsOf(got).findIndex((value, i) => value !== data[i] / 2 + 3);
      if (wrong >= 0) throw new Error(`shared memory: value ${wrong} of ${data.length} is wrong`);
    }
    if (random.int(0, 3) === 0) {
      ftruncateSync(file, random.int(0, bytes - 1));
      const { status, body: text } = await connections.send(`/v2/models/${MODEL}/infer`, body);
      if (status !== 400) throw new Error(`a region that was cut: ${status} ${text}`);
    }
    await connections.json(`${REGIONS}/status`);
    await connections.json(`${region}/unregister`, '{}');
    return served;
  } finally {
    closeSync(file);
    rmSync(`/dev/shm/${key}`, { force: true });
  }
}

/** Uses regions until `stopping()`. Resolves to {served, regions}. */
export async function runSharedMemory({ connections, random, stopping }) {
  const served = { [MODEL]: 0 };
  let regions = 0;
  while (!stopping()) {
    served[MODEL] += await useRegion(connections, random, `region-${regions % 3}`);
    regions += 1;
    await pause(random.int(0, 30));
  }
  return { served, regions };
}
