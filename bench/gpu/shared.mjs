// Requests whose tensors are in CUDA shared memory: a process that holds a client's memory on the
// GPU, its registration, and the message that names it. Control plane.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { floatsOf } from '../bodies.mjs';
import { callOnce, sendOnce } from '../check.mjs';
import { startCalled } from '../contenders/called.mjs';
import { placedInferRequest, rawOutputs } from '../wire.mjs';

const CUDA = 'libcudart.so.13';

/** CUDA's runtime: beside ONNX Runtime's library, else where the loader finds it. */
function cudaLibrary({ library }) {
  const beside = join(dirname(library), CUDA);
  return existsSync(beside) ? beside : CUDA;
}

const pathOf = (region, action) => `/v2/cudasharedmemory/region/${region}/${action}`;

async function register(http, region, handle, bytes) {
  const body = JSON.stringify({
    raw_handle: { b64: Buffer.from(handle, 'hex').toString('base64') },
    device_id: 0,
    byte_size: bytes,
  });
  const headers = { 'Content-Type': 'application/json' };
  const path = pathOf(region, 'register');
  await sendOnce(http, { method: 'POST', path, headers, body: Buffer.from(body) });
}

/** The server must not hold memory of a process that ends. */
async function unregister(http, regions) {
  for (const region of regions) {
    await sendOnce(http, { method: 'POST', path: pathOf(region, 'unregister') });
  }
}

/**
 * Places the group's only input, and its output of `answerBytes` bytes, in GPU memory and registers
 * both with `server`. `name`: the model's. Resolves to {message, call(method, timeoutMs) -> floats
 * of the output, close()}.
 */
export async function shareTensors(context, { http, grpc }, name, group, answerBytes) {
  const { inputs, model } = group;
  if (inputs.length !== 1) throw new Error(`${name}: expected one input, got ${inputs.length}`);
  const [{ tensor, bytes }] = inputs;
  const stem = join(context.tempDir, `region-${context.nextId()}`);
  writeFileSync(`${stem}.input`, bytes);
  const args = [
    ...['--cuda', cudaLibrary(context.machine), '--input', `${stem}.input`],
    ...['--output-bytes', String(answerBytes)],
  ];
  const program = await context.program('gpu_region');
  const holder = await startCalled(context, `${name}, its tensors`, program, args, (handles) => ({
    handles,
  }));
  try {
    const region = (side) => `${name}_${group.id.replaceAll('-', '_')}_${side}`;
    await register(http, region('input'), holder.handles.input, bytes.length);
    await register(http, region('output'), holder.handles.output, answerBytes);
    const message = placedInferRequest(
      name,
      tensor,
      { region: region('input'), bytes: bytes.length },
      model.output,
      { region: region('output'), bytes: answerBytes },
    );
    const call = async (method, timeoutMs) => {
      const answered = await callOnce(grpc, method, message, timeoutMs);
      const inMessage = rawOutputs(answered)[0]?.length ?? 0;
      if (inMessage > 0) throw new Error(`${name}: ${inMessage} bytes of output in the message`);
      await holder.measure(`${stem}.output`);
      return { answered, floats: floatsOf(readFileSync(`${stem}.output`)) };
    };
    const close = () => unregister(http, [region('input'), region('output')]).finally(holder.close);
    return { message, call, close };
  } catch (error) {
    await holder.close();
    throw error;
  }
}
