// A model as a scan finds it, without a folder.
import { NO_CONFIG } from '../../../../../ts/models/registry/sources/scan.js';
import type { FoundModel, FoundVersion } from '../../../../../ts/models/registry/sources/scan.js';

/** "1a 2b": versions and their contents. */
export function found(versions: string, more: Partial<FoundModel> = {}): FoundModel {
  const words = versions.split(' ').filter((word) => word !== '');
  return {
    name: 'm',
    basePath: '/m',
    source: 'repository',
    problems: [],
    readable: true,
    config: NO_CONFIG,
    labels: {},
    pending: [],
    versions: words.map(
      (word): FoundVersion => ({
        version: word[0] ?? '',
        folder: `/m/${word[0]}`,
        path: `/m/${word[0]}/model.onnx`,
        format: 'onnx',
        platform: '',
        revision: word.slice(1),
        problem: '',
      }),
    ),
    ...more,
  };
}
