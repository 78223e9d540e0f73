// Clients that flood one model at a time, now and then: many requests at once, each answered. Test
// time only.
import { pause } from './options.mjs';
import { LAZY } from './repository.mjs';

const AT_ONCE = 64;
const STEADY_MODEL = 'half_plus_three';
const BODY = '{"instances":[1.0,2.0,5.0]}';
const STEADY_EXPECTED = '[3.5,4,5.5]';

/** Floods in rounds until `stopping()`. Resolves to {served, floods}. */
export async function runFloods({ connections, random, stopping }) {
  const served = {};
  let floods = 0;
  while (!stopping()) {
    const lazy = random.int(0, LAZY.length - 1);
    const isSteady = random.int(0, 1) === 0;
    const model = isSteady ? STEADY_MODEL : LAZY[lazy];
    const expected = isSteady ? STEADY_EXPECTED : JSON.stringify([1 + lazy, 2 + lazy, 5 + lazy]);
    const untilMs = performance.now() + random.int(200, 2000);
    const client = async () => {
      while (performance.now() < untilMs && !stopping()) {
        const { predictions } = await connections.json(`/v1/models/${model}:predict`, BODY);
        if (JSON.stringify(predictions) !== expected) {
          throw new Error(`${model}, flooded: ${JSON.stringify(predictions)}`);
        }
        served[model] = (served[model] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    floods += 1;
    await pause(random.int(500, 3000));
  }
  return { served, floods };
}
