// The peers' runner without peers: options, configurations, requests and their responses, rows,
// processes of processes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { bytesOf } from '../../bodies.mjs';
import {
  CASES,
  grpcFloats,
  INPUTS,
  openCase,
  requestOf,
  speaks,
  v1Floats,
} from '../../peers/cases.mjs';
import { dockerRun, DOCKER_PEERS, requireDocker } from '../../peers/docker.mjs';
import { failedRow, inTurns, rowsOf } from '../../peers/measure.mjs';
import { parsePeerOptions, selectCases, selectPeers, serverCores } from '../../peers/options.mjs';
import { MODELS, PEERS, SERVERS, tritonConfig } from '../../peers/peers.mjs';
import { formatServers } from '../../peers/report.mjs';
import { releaseOf } from '../../peers/servers.mjs';
import { descendants, freePort, parentOf, startTree } from '../../peers/tree.mjs';
import { formatRows } from '../../report.mjs';
import { bytesField } from '../../wire.mjs';
import { testContext } from '../support.mjs';

const place = {
  python: '/env/bin/python',
  packages: '/env/lib/python3.11/site-packages',
  version: '3.11',
  models: '/models',
  folder: '/run',
  savedModel: '/saved',
  name: 'peer',
  threads: 1,
  workers: 2,
  cores: [0, 1],
  ports: { http: 8080, grpc: 8081, metrics: 8082 },
};

test('options have defaults, and errors name the flag and what is expected', () => {
  const options = parsePeerOptions([]);
  assert.deepEqual(
    [options.rounds, options.seconds, options.serverCores, options.save, options.prepare],
    [3, 2, 2, 'peers', false],
  );
  assert.deepEqual(parsePeerOptions(['--save', 'x', '--server-cores', '1']).serverCores, 1);
  assert.throws(() => parsePeerOptions(['--server-cores', '0']), /--server-cores: expected/);
  assert.throws(() => parsePeerOptions(['--save', '../x']), /--save: expected/);
  assert.throws(() => serverCores({ server: [0], all: [0, 1] }, 3), /--server-cores 3.* 2 cores/);
  assert.deepEqual(serverCores({ server: [1], all: [0, 1, 2] }, 2), [1, 0]);
});

test('peers are selected by id; those of pip are the default; a wrong name lists them', () => {
  assert.deepEqual(selectPeers(undefined), PEERS);
  assert.deepEqual(
    selectPeers('triton, mlserver').map(({ id }) => id),
    ['mlserver', 'triton'],
  );
  assert.throws(() => selectPeers('mlserver,seldon'), /mlserver, kserve.*ovms; got 'seldon'/);
  assert.deepEqual(
    selectCases('mlp-v1').map(({ id }) => id),
    ['mlp-v1'],
  );
  assert.throws(() => selectCases('nothing'), /matches no case.*resnet-grpc/);
});

test('a peer has an image, or a lock file and the name of its package', () => {
  const locks = new URL('../../peers/requirements/', import.meta.url);
  for (const peer of PEERS) {
    assert.ok(existsSync(new URL(`${peer.environment ?? peer.id}.txt`, locks)), peer.id);
    assert.ok(peer.package.length > 0);
  }
  for (const peer of DOCKER_PEERS) assert.match(peer.launch(place).image, /^[\w./-]+:[\w.-]+$/);
});

test('a launch has the ports, the workers and a URL that tells readiness', () => {
  for (const peer of [...PEERS, ...DOCKER_PEERS]) {
    const launch = peer.launch(place);
    const text = JSON.stringify(launch);
    assert.match(text, /8080/, peer.id);
    if (peer.protocols.includes('grpc')) assert.match(text, /8081/, peer.id);
    assert.ok(launch.ready.length > 0 && launch.ready.every((url) => url.includes(':8080/')));
    assert.ok(launch.args.every((one) => typeof one === 'string'));
    assert.doesNotMatch(text, /undefined/, peer.id);
    assert.match(peer.configuration({ workers: 2 }), /2/);
  }
});

test('the scripts that the launches start exist', () => {
  for (const peer of PEERS) {
    const { args, copies = [] } = peer.launch(place);
    for (const path of [...args, ...copies.flat()].filter((one) => one.startsWith(SERVERS))) {
      assert.ok(existsSync(path), path);
    }
  }
});

test('MLServer gets its settings and a folder for each model', () => {
  const { files } = PEERS.find(({ id }) => id === 'mlserver').launch(place);
  const settings = JSON.parse(files['settings.json']);
  assert.deepEqual(
    [settings.parallel_workers, settings.http_port, settings.debug],
    [2, 8080, false],
  );
  assert.deepEqual(JSON.parse(files['mlp/model-settings.json']), {
    name: 'mlp',
    implementation: 'mlserver_model.OnnxModel',
  });
});

test("Triton's configuration names the tensors of the model", () => {
  const text = tritonConfig('mlp', 'python', 2);
  assert.match(text, /backend: "python"/);
  assert.match(text, /input \{ name: "input" data_type: TYPE_FP32 dims: \[ -1, 784 \] \}/);
  assert.match(text, /instance_group \{ count: 2 kind: KIND_CPU \}/);
});

test('Docker gets cores and read-only folders; without a daemon, an error says what to do', () => {
  const mounts = [['/models', '/m']];
  const args = dockerRun({ name: 'n', image: 'i:1', cores: [0, 1], mounts, args: ['--x'] });
  const line = args.join(' ');
  assert.match(line, /--cpuset-cpus 0,1 .*-v \/models:\/m:ro i:1 --x$/);
  const fails = () => {
    throw Object.assign(new Error('x'), { stderr: 'Cannot connect to the daemon\nmore' });
  };
  assert.throws(
    () => requireDocker(['triton'], fails),
    /triton: published as container images only; .*machine with Docker.*Cannot connect/,
  );
  assert.doesNotThrow(() => requireDocker(['triton'], () => '28.0'));
});

test('every case is asked of Serval and of a peer; bodies hold the shape of the input', () => {
  for (const one of CASES) {
    assert.ok(
      PEERS.some((peer) => speaks(peer, one)),
      one.id,
    );
    const { request, message } = requestOf(one);
    assert.ok((message ?? request.body).length > 4 * INPUTS[one.model].values.length, one.id);
  }
  assert.ok(
    !speaks(
      DOCKER_PEERS.find(({ id }) => id === 'tfserving'),
      CASES.at(-1),
    ),
  );
  assert.deepEqual(Object.keys(MODELS), Object.keys(INPUTS));
  assert.throws(() => requestOf({ model: 'mlp', protocol: 'v3' }), /unknown protocol 'v3'/);
});

test('responses are read in the forms that the servers give', () => {
  const body = (value) => ({ body: Buffer.from(JSON.stringify(value)) });
  assert.deepEqual(
    [
      ...v1Floats(
        body({
          predictions: [
            [1, 2],
            [3, 4],
          ],
        }),
      ),
    ],
    [1, 2, 3, 4],
  );
  assert.deepEqual([...v1Floats(body([[1], [2]]))], [1, 2]);
  const floats = bytesOf(Float32Array.of(1, 2));
  assert.deepEqual([...grpcFloats(bytesField(6, floats))], [1, 2]);
  const contents = bytesField(5, bytesField(5, bytesField(6, floats)));
  assert.deepEqual([...grpcFloats(contents)], [1, 2]);
});

const sampleOf = (perSecond) => ({ perSecond, usPerRequest: 1e6 / perSecond });

test('servers are measured in turns; one that fails is left out and gets an error', async () => {
  const asked = [];
  const side = (id, rates) => ({
    measure: async (seconds) => {
      asked.push(`${id}${seconds}`);
      const rate = rates.shift();
      if (rate === undefined) throw new Error(`${id} failed\nmore`);
      return sampleOf(rate);
    },
  });
  const sides = {
    serval: side('s', [1, 200, 300]),
    a: side('a', [1, 100, 100]),
    b: side('b', [1]),
  };
  const taken = await inTurns(sides, { rounds: 2, seconds: 2 });
  assert.deepEqual(asked, ['s1', 'a1', 'b1', 's2', 'a2', 'b2', 's2', 'a2']);
  const one = { id: 'case', title: 'a case' };
  const others = ['a', 'b'].map((id) => ({ id, title: id.toUpperCase() }));
  const [good, bad] = rowsOf(one, others, taken);
  assert.deepEqual([good.id, good.reference, good.got], ['case/a', 'A', 2.5]);
  assert.deepEqual(good.spread, { min: 2, max: 3 });
  assert.match(bad.error, /b failed/);
  assert.match(formatRows([good, bad]), /a case +A +reported +2\.500/);
  assert.equal(failedRow(one, others[0], new Error('no')).ok, false);
});

test('a release is read from the installed packages', () => {
  const entries = ['mlserver', 'mlserver-1.7.1.dist-info', 'nvidia_pytriton-0.7.0.dist-info'];
  assert.equal(releaseOf(entries, 'mlserver'), '1.7.1');
  assert.equal(releaseOf(entries, 'nvidia-pytriton'), '0.7.0');
  assert.throws(() => releaseOf(entries, 'kserve'), /kserve is not among the installed/);
});

test('the table of servers has releases and sizes', () => {
  const facts = { readySeconds: 1.25, memoryMb: 61.4, idleCpuPercent: 0 };
  const text = formatServers([
    { title: 'Serval', ...facts },
    { title: 'MLServer', release: '1.7.1', installMb: 403.6, ...facts },
  ]);
  assert.match(text, /Serval +- +- +1\.3 s +61 MB +0\.0 %\nMLServer +1\.7\.1 +404 MB/);
});

test('descendants are found by their parents, whatever a process is called', () => {
  assert.equal(parentOf('12 (a) b) S 7 12 12'), 7);
  const parents = new Map([
    [2, 1],
    [3, 2],
    [4, 3],
    [9, 8],
  ]);
  assert.deepEqual(descendants(2, parents), [2, 3, 4]);
});

// A server with a second process, its worker, as those of Python have.
const WORKER = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  require('node:http').createServer((_, res) => res.end(String(child.pid)))
    .listen(Number(process.argv[1]), '127.0.0.1');
`;

const isAlive = (pid) => existsSync(`/proc/${pid}/stat`);

test('a server is ready when it answers; its workers count, and end with it', async (t) => {
  const { cores } = testContext(t);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const args = ['-e', WORKER, String(port)];
  const server = await startTree({
    command: process.execPath,
    args,
    cores: cores.all,
    ready: [url],
  });
  const worker = Number(await (await fetch(url)).text());
  assert.ok(isAlive(worker));
  assert.ok(server.readyMs > 0 && server.cpuNs() > 0 && server.bytes() > 1e6);
  assert.equal(server.ended(), '');
  await server.stop();
  assert.notEqual(server.ended(), '');
  const state = isAlive(worker)
    ? execFileSync('ps', ['-o', 'state=', '-p', String(worker)], { encoding: 'utf8' }).trim()
    : 'gone';
  assert.match(state, /^(gone|Z)/);
});

test('a server that ends before it answers is an error with its output', async (t) => {
  const { cores } = testContext(t);
  const args = ['-e', 'console.log("no model"); process.exit(3)'];
  const ready = [`http://127.0.0.1:${await freePort()}/`];
  await assert.rejects(
    startTree({ command: process.execPath, args, cores: cores.all, ready }),
    /ended with 3:\nno model/,
  );
});

test('a wrong response is an error before anything is timed', async (t) => {
  const context = testContext(t);
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{"predictions":[3.5,4,5.5,9]}'));
  });
  t.after(() => server.close());
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const http = { host: '127.0.0.1', port: server.address().port, pid: process.pid };
  const one = CASES.find(({ id }) => id === 'half-plus-three-v1');
  const wrong = openCase(context, one, { title: 'X', http }, Float32Array.of(3.5, 4, 5.5, 8));
  await assert.rejects(wrong, /X, half-plus-three-v1\[3\]: got 9, expected 8/);
  const shifted = { title: 'X', http, shift: 1 };
  await openCase(context, one, shifted, Float32Array.of(2.5, 3, 4.5, 8));
});
