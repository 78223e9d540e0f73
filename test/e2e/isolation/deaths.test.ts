// The process of isolated models dies, by any signal and under load: requests in flight are
// answered 503 with the reason, it restarts, and no other model loses a request.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ModelFolders } from '../support/model-folders.js';
import { SteadyLoad, until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import {
  addWaiting,
  isolated,
  isThere,
  linesOf,
  oneProcess,
  processesOf,
  slotsOf,
} from './support.js';

const SIGNALS = { SIGKILL: 9, SIGABRT: 6, SIGFPE: 8, SIGBUS: 7, SIGSEGV: 11 } as const;
const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}]}';
const ENDED = 'the process of models ended';
/** Longer than any test: such a request ends with its process. */
const FOREVER_US = 600_000_000;
/** After its channel exists, a request begins at once; one that has not begun is not lost. */
const BEGIN_MS = 100;

const pathOf = (model: string): string => `/v2/models/${model}/infer`;

describe('the process of isolated models ends', () => {
  const folders = new ModelFolders();
  let models = '';
  before(() => {
    models = folders.repository('deaths', ['half_plus_three']);
    addWaiting(models, 'waits', FOREVER_US, isolated('group'));
    addWaiting(models, 'quick', 1, isolated('group'));
  });
  after(() => folders.remove());

  const started = async (context: TestContext, ...args: string[]): Promise<ServalProcess> => {
    const server = await startServer([models, ...args]);
    context.after(() => server.stop());
    return server;
  };
  const quick = async (server: ServalProcess): Promise<number> =>
    (await exchange(server.httpPort, 'POST', pathOf('quick'), BODY)).status;
  const answersAgain = (server: ServalProcess): Promise<boolean> =>
    until(
      'the model to answer again',
      async () => (await quick(server)) === 200,
      () => server.stderr,
    );
  /** A request that waits in the process; settles when it has arrived there. */
  const inFlight = async (server: ServalProcess, pid: number) => {
    const others = slotsOf(pid);
    const answer = exchange(server.httpPort, 'POST', pathOf('waits'), BODY);
    await until('a request in the process', () => slotsOf(pid) > others);
    await sleep(BEGIN_MS);
    return { answer };
  };

  it('by any signal, and in quick succession', async (context) => {
    const server = await started(context);
    const load = new SteadyLoad(server.httpPort, pathOf('half_plus_three'), BODY);
    let pid = await oneProcess(server);
    for (const [signal, number] of Object.entries(SIGNALS)) {
      const { answer } = await inFlight(server, pid);
      process.kill(pid, signal);
      const response = await answer;
      assert.equal(response.status, 503, response.body.toString());
      const text = response.body.toString();
      assert.match(
        text,
        new RegExp(`model 'waits': its process ended by signal ${number} \\(${signal}\\)`),
      );
      await answersAgain(server);
      await load.more(20);
      pid = await oneProcess(server, pid);
    }
    await load.stop();
    assert.deepEqual(load.failures, []);
    assert.equal(load.answers.length, 1);
    const lines = await until('a line for each death', () => {
      const all = linesOf(server, ENDED);
      return all.length === 5 && all;
    });
    // Each death in quick succession doubles the pause.
    assert.deepEqual(
      lines.map((line) => line['startsAgainInMs']),
      [100, 200, 400, 800, 1600],
    );
    assert.equal(lines[0]?.['models'], 'quick,waits');
    const metrics = await exchange(server.httpPort, 'GET', '/metrics');
    const page = metrics.body.toString();
    for (const signal of Object.keys(SIGNALS)) {
      assert.ok(
        page.includes(`serval_isolated_deaths_total{model="quick",signal="${signal}"} 1\n`),
        page
          .split('\n')
          .filter((line) => line.includes('isolated'))
          .join('\n'),
      );
    }
    assert.match(page, /^serval_isolated_up\{models="[a-z,]+"\} 1$/m);
    assert.match(page, new RegExp(`^serval_isolated_pid\\{models="[a-z,]+"\\} ${pid}$`, 'm'));
  });

  it('refuses at once while it pauses if requests do not wait', async (context) => {
    const server = await started(context, '--isolate-wait-ms=0');
    let pid = 0;
    for (let i = 0; i < 6; i += 1) {
      pid = await oneProcess(server, pid);
      await answersAgain(server);
      process.kill(pid, 'SIGKILL');
    }
    const refused = await until('a refusal', async () => {
      const response = await exchange(server.httpPort, 'POST', pathOf('quick'), BODY);
      return response.status === 503 && response.body.toString();
    });
    assert.match(
      refused,
      /its process ended by signal 9 \(SIGKILL\); it (starts again in \d|is being)/,
    );
    await answersAgain(server);
  });

  it('affects no other model when it runs out of memory', async (context) => {
    const server = await started(context, '--isolate=half_plus_three');
    const load = new SteadyLoad(server.httpPort, pathOf('quick'), BODY);
    const page = (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
    const mine = Number(/serval_isolated_pid\{models="half_plus_three"\} (\d+)/.exec(page)?.[1]);
    assert.ok(processesOf(server).includes(mine), page);
    const values = new Array<number>(300_000).fill(1);
    const body = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [values.length], data: values }],
    });
    const ask = () => exchange(server.httpPort, 'POST', pathOf('half_plus_three'), body);
    execFileSync('prlimit', ['--pid', String(mine), '--as=1000000']);
    // A request that the process had not begun runs in the next one.
    const { status } = await ask();
    assert.ok(status === 200 || status >= 500, `${status}`);
    if (isThere(mine)) process.kill(mine, 'SIGKILL');
    await until('the model to answer again', async () => (await ask()).status === 200);
    await load.more(20);
    await load.stop();
    assert.deepEqual(load.failures, []);
  });

  it('with its server, however that ends', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const server = await startServer([models]);
      const pid = await oneProcess(server);
      assert.equal(await quick(server), 200);
      server.signal(signal);
      const { code } = await server.ended;
      assert.equal(code, signal === 'SIGTERM' ? 0 : null);
      await until('its process to be gone', () => !isThere(pid));
    }
  });

  it('when its last model is unloaded', async (context) => {
    const args = ['--model-control-mode=explicit', '--load-model=*'];
    const server = await started(context, ...args);
    const pid = await oneProcess(server);
    const control = async (model: string, verb: string): Promise<void> => {
      const path = `/v2/repository/models/${model}/${verb}`;
      assert.equal((await exchange(server.httpPort, 'POST', path, '{}')).status, 200);
    };
    assert.equal(await quick(server), 200);
    await control('waits', 'unload');
    assert.equal(await quick(server), 200);
    assert.ok(isThere(pid));
    await control('quick', 'unload');
    await until('its process to be gone', () => !isThere(pid));
    await control('quick', 'load');
    assert.equal(await quick(server), 200);
    await oneProcess(server, pid);
    assert.deepEqual(linesOf(server, ENDED), []);
  });

  it('is left alone by signals that its server answers', async (context) => {
    const server = await started(context);
    const pid = await oneProcess(server);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
    assert.equal(await quick(server), 200);
    assert.equal(await oneProcess(server), pid);
  });

  it('is refused for models that cannot be isolated', async (context) => {
    writeFileSync(
      join(models, 'half_plus_three', 'config.pbtxt'),
      'parameters { key: "isolation" value: { string_value: "thread" } }',
    );
    const server = await started(context, '--strict-readiness=false');
    const line = await until('the refusal', () => linesOf(server, 'isolation')[0]);
    assert.match(JSON.stringify(line), /expected none or process, got/);
  });
});
