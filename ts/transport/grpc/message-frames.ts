// Messages that are no gRPC: grpc-js reads any flag that is not 1 as "not compressed", and forgets
// the piece of a message that a request ends with. Here both end the call with INTERNAL, in the
// words of the native listener. A look at each frame of a request, on the hot path; the listener's
// thread.
// Source: gRPC over HTTP2, "Requests" (Compressed-Flag).

const NO_DATA = 0;
const COMPRESSED = 1;
const INTERNAL = 13;

/** What is used of grpc-js's BaseServerInterceptingCall. */
export interface FramedCall {
  readonly decoder: { readonly readState: number; readonly readCompressFlag: Buffer };
  handleDataFrame(data: Buffer): void;
  handleEndEvent(): void;
  decompressAndMaybePush(entry: { readonly compressedMessage: Buffer }): Promise<void>;
  sendStatus(status: { code: number; details: string; metadata: null }): void;
}

function end(call: FramedCall, details: string): void {
  call.sendStatus({ code: INTERNAL, details, metadata: null });
}

const unknownFlag = (flag: number): string => `Unknown compressed flag ${flag} before a message`;

/** Has calls with this prototype look at their frames, beside what they do now. `handleEndEvent`:
 * grpc-js's own. */
export function checkFrames(calls: FramedCall, handleEndEvent: () => void): void {
  const { handleDataFrame, decompressAndMaybePush } = calls;
  calls.handleDataFrame = function checked(this: FramedCall, data: Buffer): void {
    handleDataFrame.call(this, data);
    const { readState, readCompressFlag } = this.decoder;
    const flag = readCompressFlag[0] ?? 0;
    if (readState !== NO_DATA && flag > COMPRESSED) end(this, unknownFlag(flag));
  };
  // Of a message that came in one piece.
  calls.decompressAndMaybePush = function checked(
    this: FramedCall,
    entry: { readonly compressedMessage: Buffer },
  ): Promise<void> {
    const flag = entry.compressedMessage[0] ?? 0;
    if (flag <= COMPRESSED) return decompressAndMaybePush.call(this, entry);
    end(this, unknownFlag(flag));
    return Promise.resolve();
  };
  calls.handleEndEvent = function checked(this: FramedCall): void {
    if (this.decoder.readState === NO_DATA) handleEndEvent.call(this);
    else end(this, 'Incomplete message at the end of the request');
  };
}
