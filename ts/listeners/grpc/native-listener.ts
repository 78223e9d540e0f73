// The addon's gRPC listener, seen from the JavaScript thread that owns it: that thread answers the
// methods that the engine does not serve itself, and makes the error texts that are left to
// TypeScript. Must not know any protocol or registry: it is given the services.
import type { ThreadAdded } from '../threads.js';
import type { CallKind } from '../../access/groups.js';
import { ERRORS, ErrorCode } from '../../base/errors.js';
import { HANDSHAKE_MS_MAX, INFLATED_BYTES_MAX } from '../../base/limits.js';
import { addedCounts } from '../../base/text.js';
import {
  GrpcStatus,
  PLAIN_WORDING,
  thrownStatus,
  type EngineMethod,
  type EngineWording,
  type GrpcService,
  type GrpcStreamOpen,
  type GrpcUnaryHandler,
} from './call.js';
import { type Expires } from '../tls/settings.js';
import { NOTHING_CUT, type Cut } from '../cut.js';
import { EventTaker, type ExplainedFailure } from './native-events.js';
import { expiryOf, pemText } from '../tls/pem-files.js';
import { nativeAccess, type AccessOf } from './access.js';
import {
  NativeCall,
  readEvents,
  type NativeGrpcEvents,
  type NativeGrpcLink,
  type NativeMethod,
} from './native-binding.js';
import { NativeStream, NativeUnary, type ForwardedCall } from './native-calls.js';
import type { GrpcTransportSettings, HandshakeFailures } from './settings.js';

export interface NativeGrpcListenerOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly services: readonly GrpcService[];
  /** The same services for a caller whose key has a number; absent: the same for all. */
  readonly servicesOf?: (caller: number) => readonly GrpcService[];
  readonly transport: GrpcTransportSettings;
  /** HTTP uses this port too: calls arrive once the HTTP listener of this thread has started. */
  readonly sharesPort?: boolean;
  readonly connectionsMax: number;
  /** Maximum bytes of responses that clients have not read yet, in total. */
  readonly unsentBytesMax: number;
  readonly handshakeMsMax?: number;
  /** Absent: everybody may make every call. */
  readonly access?: AccessOf;
  /**
   * Called when connections are refused, when TLS handshakes fail, and after TLS files were
   * reloaded.
   */
  readonly full?: (connections: number) => void;
  readonly threadAdded?: (added: ThreadAdded) => void;
  readonly handshakeFailed?: (failures: HandshakeFailures) => void;
  readonly certificates?: (problem: string | undefined) => void;
  /** Called with the expiry of the certificate that is served from now on. */
  readonly expires?: Expires;
  /** The models that forwarded calls wait for; called when a drain cuts off the first of them. */
  readonly unanswered?: () => Cut['models'];
  /** Receives what a handler threw when no response is pending, which is a bug. */
  readonly report: (error: unknown) => void;
}

/** The handler of a method. */
interface Answering {
  readonly unary?: GrpcUnaryHandler;
  readonly stream?: GrpcStreamOpen;
  readonly engine?: EngineMethod;
}

/** Tolerance between the addon's clock and JavaScript's at the end of a drain. */
const CLOCKS_MS = 10;

/** Listens from `start` to `drain`, once. */
export class NativeGrpcListener implements NativeGrpcEvents {
  readonly #link: NativeGrpcLink;
  readonly #options: NativeGrpcListenerOptions;
  readonly #methods: NativeMethod[] = [];
  readonly #answering: Answering[] = [];
  /** The same for callers whose keys have numbers. */
  readonly #keyed = new Map<number, readonly Answering[]>();
  readonly #kinds: (CallKind | undefined)[] = [];
  readonly #wordings: EngineWording[] = [PLAIN_WORDING];
  /** By thread, then by call. */
  readonly #calls: Map<number, ForwardedCall>[] = [];
  #started = false;
  #draining = false;
  /** By performance.now(); from then on a drain cuts off calls. */
  #cutsAtMs = Infinity;
  /** The models of forwarded calls that were cut off. */
  #cutModels: Cut['models'] | undefined;
  readonly #taker: EventTaker;
  #drained: (cut: Cut) => void = () => undefined;

  constructor(link: NativeGrpcLink, options: NativeGrpcListenerOptions) {
    this.#link = link;
    this.#options = options;
    const { report } = options;
    this.#taker = new EventTaker(
      () => link.read((native) => native.grpcTake()),
      (packed) => readEvents(packed, this, report),
      report,
    );
    for (const service of options.services) this.#register(service);
  }

  /**
   * Starts listening. Returns the port, 0 if it is HTTP's; throws a ServalError that gives the
   * reason.
   */
  start(): number {
    const { host, port, transport, connectionsMax, unsentBytesMax } = this.#options;
    const { handshakeMsMax = HANDSHAKE_MS_MAX, access, sharesPort = false } = this.#options;
    const { threadsMax = transport.threads } = transport;
    for (let i = 0; i < threadsMax; i += 1) this.#calls.push(new Map());
    const options = {
      ...transport,
      host,
      port,
      sharesPort,
      threadsValue: 'threads_grpc',
      connectionsMax,
      unsentBytesMax,
      inflatedBytesMax: INFLATED_BYTES_MAX,
      handshakeMsMax,
      methods: this.#methods,
      wordings: this.#wordings,
      statuses: statusesByCode(),
      ...(access && { access: nativeAccess(this.#kinds, access) }),
    };
    const answer = this.#link.read((native) => native.grpcStart(options, this.#taker.take));
    this.#started = true;
    this.#tellExpiry();
    return answer.readUInt32LE();
  }

  /** Access for calls that begin from now on. */
  setAccess(access: AccessOf): void {
    if (!this.#started) return;
    this.#keyed.clear();
    const table = nativeAccess(this.#kinds, access);
    this.#link.read((native) => native.grpcAccess(table));
  }

  /** Reloads TLS files; the outcome goes to `certificates`. */
  reloadCertificates(): void {
    const hasTls = this.#options.transport.tls !== undefined;
    if (this.#started && hasTls) this.#link.native.grpcReloadCertificates();
  }

  /**
   * Stops accepting, lets running calls finish and notifies streams; after `seconds` the remaining
   * connections are cut off. Settles when all are closed and the listener's threads have ended,
   * with the calls that were cut off.
   */
  async drain(seconds: number): Promise<Cut> {
    if (!this.#started || this.#draining) return NOTHING_CUT;
    this.#draining = true;
    const drained = new Promise<Cut>((resolve) => {
      this.#drained = resolve;
    });
    this.#cutsAtMs = performance.now() + seconds * 1000 - CLOCKS_MS;
    this.#link.native.grpcDrain(seconds * 1000);
    for (const calls of this.#calls) for (const call of [...calls.values()]) call.drain();
    const cut = await drained;
    this.stop();
    return cut;
  }

  /** Cuts off everything and ends the listener's threads. */
  stop(): void {
    if (!this.#started) return;
    this.#started = false;
    this.#taker.stop();
    this.#link.native.grpcStop();
    for (const calls of this.#calls) {
      for (const call of [...calls.values()]) call.closed();
      calls.clear();
    }
  }

  opened(thread: number, id: number, method: number, deadline: number, caller: number): void {
    const call = new NativeCall(this.#link.native, thread, id);
    const { unary, stream } = this.#answeringOf(caller)[method] ?? {};
    const gone = (): void => void this.#calls[thread]?.delete(id);
    if (unary !== undefined) {
      this.#calls[thread]?.set(id, new NativeUnary(call, unary, deadline, gone));
      return;
    }
    if (stream === undefined) throw new TypeError(`gRPC method ${method} is not forwarded`);
    let forwarded: NativeStream;
    try {
      forwarded = new NativeStream(call, stream, deadline, gone);
    } catch (error) {
      const { code, details } = thrownStatus(error);
      call.finish(code, details);
      return;
    }
    if (forwarded.ended) return;
    this.#calls[thread]?.set(id, forwarded);
    if (this.#draining) forwarded.drain();
  }

  message(thread: number, id: number, message: Buffer): void {
    this.#calls[thread]?.get(id)?.message(message);
  }

  halfClosed(thread: number, id: number): void {
    this.#calls[thread]?.get(id)?.halfClosed();
  }

  closed(thread: number, id: number): void {
    const call = this.#calls[thread]?.get(id);
    if (call === undefined) return;
    this.#calls[thread]?.delete(id);
    // Recorded before it is cancelled.
    if (performance.now() >= this.#cutsAtMs) this.#cutModels ??= this.#options.unanswered?.() ?? {};
    call.closed();
  }

  left(thread: number, id: number, messages: number): void {
    this.#calls[thread]?.get(id)?.left(messages);
  }

  explain(thread: number, id: number, method: number, failure: ExplainedFailure): void {
    const call = new NativeCall(this.#link.native, thread, id);
    const explained = this.#explained(method, failure);
    if (explained instanceof GrpcStatus) call.explainStatus(explained.code, explained.details);
    else call.explainReply(explained);
  }

  full(connections: number): void {
    this.#options.full?.(connections);
  }

  threadAdded(added: ThreadAdded): void {
    this.#options.threadAdded?.(added);
  }

  handshakeFailed(failures: HandshakeFailures): void {
    this.#options.handshakeFailed?.(failures);
  }

  // The listener has just read the files itself.
  #tellExpiry(): void {
    const { expires, transport } = this.#options;
    if (expires === undefined || transport.tls === undefined) return;
    try {
      expires(expiryOf(pemText(transport.tls.certificate)));
    } catch (error) {
      this.#options.report(error);
    }
  }

  certificates(problem: string | undefined): void {
    if (problem === undefined) this.#tellExpiry();
    this.#options.certificates?.(problem);
  }

  drained({ requests, models }: Cut): void {
    this.#drained({ requests, models: addedCounts([models, this.#cutModels ?? {}]) });
  }

  #answeringOf(caller: number): readonly Answering[] {
    const { servicesOf } = this.#options;
    if (caller === 0 || servicesOf === undefined) return this.#answering;
    let keyed = this.#keyed.get(caller);
    if (keyed === undefined) {
      keyed = servicesOf(caller).flatMap((service) => methodsOf(service).map(([, one]) => one));
      this.#keyed.set(caller, keyed);
    }
    return keyed;
  }

  #explained(
    method: number,
    { code, body, missingBytes, caller }: ExplainedFailure,
  ): GrpcStatus | Buffer {
    const engine = this.#answeringOf(caller)[method]?.engine;
    try {
      if (engine === undefined)
        throw new TypeError(`gRPC method ${method} is not served by the engine`);
      return engine.explain(code, body, missingBytes);
    } catch (error) {
      this.#options.report(error);
      return thrownStatus(error);
    }
  }

  #register(service: GrpcService): void {
    const { name, calls = {} } = service;
    for (const [method, answering] of methodsOf(service)) {
      const { stream, engine: native } = answering;
      this.#answering.push(answering);
      this.#kinds.push(calls[method]);
      this.#methods.push({
        path: `/${name}/${method}`,
        streams: stream !== undefined || native?.streams === true,
        protocol: native?.protocol ?? -1,
        wording: native === undefined ? 0 : this.#wordingIndex(native.wording),
      });
    }
  }

  #wordingIndex(wording: EngineWording): number {
    const known = this.#wordings.indexOf(wording);
    return known >= 0 ? known : this.#wordings.push(wording) - 1;
  }
}

/** The methods of a service, always in the same order. */
function methodsOf({
  unary,
  streams,
  engine = {},
}: GrpcService): readonly (readonly [string, Answering])[] {
  const names = [unary, streams, engine].flatMap((kind) => Object.keys(kind));
  return names.map((method) => {
    const [handler, open, native] = [unary[method], streams[method], engine[method]];
    const answering = {
      ...(handler && { unary: handler }),
      ...(open && { stream: open }),
      ...(native && { engine: native }),
    };
    return [method, answering] as const;
  });
}

function statusesByCode(): readonly number[] {
  const statuses: number[] = [];
  for (const code of Object.values(ErrorCode)) {
    if (typeof code === 'number') statuses[code] = ERRORS[code].grpc;
  }
  return statuses;
}
