// gRPC's own interop clients, of grpc-go and grpc-java, against the service of
// test/native/transport/interop over the native listener: plain, with TLS, with compressed
// responses. Cases that need Google's infrastructure (credentials, load reports) are omitted.
// Source: interop-test-descriptions.md of github.com/grpc/grpc.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { packageRoot } from '../../ts/base/package-files.js';
import { Certificates } from '../e2e/support/certificates.js';
import { findGo, findJava } from './support.js';

const GO_CASES = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'status_code_and_message',
  'special_status_message',
  'custom_metadata',
  'unimplemented_method',
  'unimplemented_service',
  'pick_first_unary',
  'rpc_soak',
  'channel_soak',
];
/** One Java process for each: the cases in which its transport differs most from Go's. */
const JAVA_CASES = [
  'large_unary',
  'ping_pong',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'special_status_message',
  'custom_metadata',
];
/**
 * Cases in which the client sends compressed messages, and in which it expects them. Its probes of
 * the former (the server must refuse messages with a compression flag that are not compressed) need
 * a server that can detect it.
 */
const PACKED_CASES = [
  'client_compressed_unary_noprobe',
  'client_compressed_streaming_noprobe',
  'server_compressed_unary',
  'server_compressed_streaming',
];
const RUN_MS = 60_000;
const BUILD = join(packageRoot(), 'build', 'native-plain');
const run = promisify(execFile);

/** Builds interop_server if necessary. Tests run in parallel: only one builds. */
function serverProgram(): string {
  const given = process.env['SERVAL_INTEROP_SERVER'];
  if (given !== undefined) return given;
  const script = join(packageRoot(), 'test', 'native', 'transport', 'interop', 'build.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  assert.equal(status, 0, `interop_server was not built:\n${stdout}${stderr}`);
  return join(BUILD, 'interop_server');
}

/** The server with these arguments; ends with its standard input. */
class InteropServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: string,
  ) {}

  static async start(...args: readonly string[]): Promise<InteropServer> {
    const child = spawn(serverProgram(), args, { stdio: ['pipe', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout })) {
      return new InteropServer(child, line.replace('port ', ''));
    }
    throw new Error('interop_server ended');
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => {
      this.child.once('close', resolve);
    });
    this.child.stdin?.end();
    assert.equal(await ended, 0);
  }
}

interface Variant {
  readonly name: string;
  readonly server: readonly string[];
  readonly tls?: boolean;
  readonly goCases: readonly string[];
  readonly javaCases: readonly string[];
}

describe("gRPC's interop clients", () => {
  const certificates = new Certificates();
  const { certificate, key } = certificates.server;
  const go = findGo();
  const java = findJava();
  after(() => certificates.remove());

  const goCommand = ({ tls = false }: Variant, port: string): readonly string[] => {
    const security = ['-use_tls', '-use_test_ca', '-ca_file', certificates.authority.certificate];
    const place = ['-server_host', 'localhost', '-server_port', port];
    return [go.program('client'), ...place, ...(tls ? security : [])];
  };
  const javaCommand = (port: string): readonly string[] =>
    java.command(
      'io.grpc.testing.integration.TestServiceClient',
      '--server_host=localhost',
      `--server_port=${port}`,
      '--use_tls=false',
    );

  const suite = (variant: Variant): void => {
    describe(variant.name, () => {
      let server: InteropServer;
      before(async () => {
        server = await InteropServer.start('--threads', '2', ...variant.server);
      });
      after(() => server.stop());
      const check = async (
        [program = '', ...args]: readonly string[],
        name: string,
      ): Promise<void> => {
        await run(program, [...args, `--test_case=${name}`], { timeout: RUN_MS });
      };
      for (const name of variant.goCases) {
        it(`grpc-go: ${name}`, { skip: go.missing }, () =>
          check(goCommand(variant, server.port), name),
        );
      }
      for (const name of variant.javaCases) {
        it(`grpc-java: ${name}`, { skip: java.missing }, () =>
          check(javaCommand(server.port), name),
        );
      }
    });
  };
  suite({ name: 'plain', server: [], goCases: GO_CASES, javaCases: JAVA_CASES });
  suite({
    name: 'packed answers',
    server: ['--compression', '6'],
    goCases: ['large_unary'],
    javaCases: PACKED_CASES,
  });
  suite({
    name: 'TLS',
    server: ['--certificate', certificate, '--key', key],
    tls: true,
    goCases: GO_CASES,
    javaCases: [], // only trusts gRPC's own authority
  });
});
