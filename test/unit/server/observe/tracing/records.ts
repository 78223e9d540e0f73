// Traced requests as the engine reports them. Test time only.
import type { TraceRecord } from '../../../../../ts/base/generated/engine.js';

export const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
export const TRACE = '0af7651916cd43dd8448eb211c80319c';
export const SPAN = 'b7ad6b7169203331';

/** A request that waited 1 us and spent 2, 3 and 4 us in its steps; `change` overrides members. */
export function record(change: Partial<TraceRecord> = {}): TraceRecord {
  return {
    traceId: bytes(TRACE),
    spanId: bytes(SPAN),
    parentId: new Uint8Array(0),
    traceState: '',
    model: 'm',
    version: '3',
    requestId: '',
    protocol: 1,
    code: 0,
    startS: 1_700_000_000,
    startNs: 999_999_000,
    steadyNs: '9007199254740993',
    totalNs: 11_000,
    queueNs: 1000,
    loadWaitNs: 0,
    inputNs: 2000,
    inferNs: 3000,
    outputNs: 4000,
    requestBytes: 10,
    responseBytes: 20,
    rows: 2,
    batchTraceId: new Uint8Array(0),
    batchSpanId: new Uint8Array(0),
    batchRequests: 0,
    batchRows: 0,
    tensors: [],
    ...change,
  };
}

export const BATCHED: Partial<TraceRecord> = {
  batchTraceId: bytes('11'.repeat(16)),
  batchSpanId: bytes('22'.repeat(8)),
  batchRequests: 2,
  batchRows: 4,
};
