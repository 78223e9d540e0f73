// Request bodies of the workloads, and decoders for the responses. Pure, control plane.

/** Deterministic floats in [0, 1): the same in every run (a 32-bit LCG, Numerical Recipes). */
export function makeFloats(count, seed = 1) {
  const values = new Float32Array(count);
  let state = seed >>> 0;
  for (let index = 0; index < count; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[index] = state / 2 ** 32;
  }
  return values;
}

/** `values` as text with 9 significant digits, enough to restore every float32 exactly. */
export function floatTexts(values) {
  return Array.from(values, (value) => value.toPrecision(9));
}

/** Element texts nested by `shape`, row-major: (['1','2','3','4'], [2,2]) -> '[[1,2],[3,4]]'. */
export function nestTexts(texts, shape) {
  let level = texts;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    const size = shape[axis];
    const next = [];
    for (let start = 0; start < level.length; start += size) {
      next.push(`[${level.slice(start, start + size).join(',')}]`);
    }
    level = next;
  }
  if (level.length !== 1) throw new RangeError(`${texts.length} elements do not fill [${shape}]`);
  return level[0];
}

/** V1 row form: POST /v1/models/M:predict. Shape includes the batch. */
export function v1Request(model, texts, shape) {
  return {
    method: 'POST',
    path: `/v1/models/${model}:predict`,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(`{"instances":${nestTexts(texts, shape)}}`),
  };
}

/**
 * V2 JSON: POST /v2/models/M/infer with flat data. Each input consists of the tensor, {name,
 * datatype, shape} with optional other members, and the texts of its elements.
 */
export function v2JsonRequest(model, inputs) {
  const members = inputs.map(({ tensor, texts }) => {
    const head = JSON.stringify(tensor);
    return `${head.slice(0, -1)},"data":[${texts.join(',')}]}`;
  });
  const body = `{"inputs":[${members.join(',')}]}`;
  return {
    method: 'POST',
    path: `/v2/models/${model}/infer`,
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(body),
  };
}

/**
 * V2 with the binary tensor data extension in both directions. `bytes` is the tensor,
 * little-endian.
 */
export function v2BinaryRequest(model, tensor, outputName, bytes) {
  return v2BinaryInputs(model, [{ tensor, bytes }], outputName);
}

/** The same with several inputs, each a tensor and its bytes. `binary`: the output's form. */
export function v2BinaryInputs(model, inputs, outputName, binary = true) {
  const described = inputs.map(({ tensor, bytes }) => ({
    ...tensor,
    parameters: { binary_data_size: bytes.length },
  }));
  const outputs = [{ name: outputName, parameters: { binary_data: binary } }];
  const head = Buffer.from(JSON.stringify({ inputs: described, outputs }));
  return {
    method: 'POST',
    path: `/v2/models/${model}/infer`,
    headers: {
      'Content-Type': 'application/octet-stream',
      'Inference-Header-Content-Length': String(head.length),
    },
    body: Buffer.concat([head, ...inputs.map(({ bytes }) => bytes)]),
  };
}

/** Returns the bytes of the only output tensor in the binary response to v2BinaryRequest. */
export function v2BinaryAnswer(answer) {
  const headBytes = Number(answer.headers.get('inference-header-content-length'));
  if (!Number.isInteger(headBytes) || headBytes <= 0) {
    throw new Error('the answer has no Inference-Header-Content-Length');
  }
  const { outputs } = JSON.parse(answer.body.toString('utf8', 0, headBytes));
  const bytes = answer.body.subarray(headBytes);
  const size = outputs?.[0]?.parameters?.binary_data_size;
  if (outputs?.length !== 1 || size !== bytes.length) {
    throw new Error(`binary answer: ${bytes.length} bytes follow, its head says ${size}`);
  }
  return bytes;
}

/** The bytes of a typed array, without a copy. */
export function bytesOf(array) {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

/** Little-endian float32 bytes -> floats (copied: the bytes may not be aligned). */
export function floatsOf(bytes) {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}

/** The same for float64. */
export function doublesOf(bytes) {
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

/** Raw bytes of strings in V2's form: four bytes of length before each. */
export function rawTexts(texts) {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return [length, bytes];
    }),
  );
}
