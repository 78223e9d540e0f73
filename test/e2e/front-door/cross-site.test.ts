// Web pages of strangers must not change a server that their visitors reach; programs still may.
// Over both HTTP listeners, every call that changes state. Source: issue triton#5558; Fetch.
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { errorOf, exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = '/v2/repository/models/half_plus_three';
const CHANGES = [
  [`${MODEL}/unload`, ''],
  [`${MODEL}/load`, ''],
  ['/v2/repository/reload', ''],
  ['/v2/logging', '{"log_info":false}'],
] as const;
const STRANGERS = [
  ['Origin: http://evil.example', 'Content-Type: text/plain'],
  ['Origin: null'],
  ['Sec-Fetch-Site: cross-site'],
  ['Sec-Fetch-Site: same-site', 'Origin: http://test'],
  // Host: test, which is not this machine's name
  ['Sec-Fetch-Site: same-origin', 'Origin: http://test'],
] as const;

overListeners('Calls that change state', (flags) => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let port = 0;
  before(async () => {
    const models = folders.repository('pages', ['half_plus_three']);
    const explicit = ['--model-control-mode', 'explicit', '--load-model', '*'];
    server = await startServer([models, ...explicit, ...flags]);
    port = server.httpPort;
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const ready = async (): Promise<number> =>
    (await exchange(port, 'GET', '/v2/models/half_plus_three/ready')).status;

  it('are refused to pages of strangers, and change nothing', async () => {
    for (const [path, body] of CHANGES) {
      for (const headers of STRANGERS) {
        const response = await exchange(port, 'POST', path, body, headers);
        assert.equal(response.status, 403, `${path} ${headers.join()}`);
        assert.match(errorOf(response), /changes state: expected/);
      }
    }
    assert.equal(await ready(), 200);
    const settings = await exchange(port, 'GET', '/v2/logging');
    assert.equal((JSON.parse(settings.body.toString()) as { log_info: boolean }).log_info, true);
  });

  it('are accepted from programs', async () => {
    for (const [path, body] of CHANGES) {
      assert.equal((await exchange(port, 'POST', path, body)).status, 200, path);
    }
    assert.equal(await ready(), 200);
  });

  it('are allowed for calls that only read', async () => {
    const stranger = ['Origin: http://evil.example', 'Sec-Fetch-Site: cross-site'];
    assert.equal((await exchange(port, 'GET', '/v2', '', stranger)).status, 200);
    assert.equal((await exchange(port, 'POST', '/v2/repository/index', '', stranger)).status, 200);
  });
});
