// The shipped licences are those of the packages in the bundle. Test time only; needs dist/.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundledPackages } from '../../../scripts/bundle.mjs';
import { BUNDLED, shippedPackages } from '../../../scripts/packaging/prebuilt.mjs';

test('what is bundled is what is listed', async () => {
  const bundled = await bundledPackages();
  assert.ok(bundled.includes('yauzl'), bundled.join());
  const shipped = new Set(shippedPackages());
  assert.deepEqual(
    bundled.filter((name) => !shipped.has(name)),
    [],
  );
  assert.deepEqual(
    BUNDLED.filter((name) => !bundled.includes(name)),
    [],
  );
});
