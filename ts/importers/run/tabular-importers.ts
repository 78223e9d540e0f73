// The importers of tabular models, each loaded on demand. Importer's worker thread.
import type { TabularImporters } from './import-tabular.js';

export const TABULAR_IMPORTERS: TabularImporters = {
  spark: async () => {
    const { importSpark, lowerSpark } = await import('../spark/index.js');
    return (path, settings, opened) =>
      opened === undefined ? importSpark(path, settings) : lowerSpark(opened, settings);
  },
  mleap: async () => {
    const { importBundle, importMleap } = await import('../mleap/index.js');
    return (path, _, opened) => (opened === undefined ? importMleap(path) : importBundle(opened));
  },
  xgboost: async () => (await import('../boosters/index.js')).importBooster,
  lightgbm: async () => (await import('../boosters/index.js')).importBooster,
  catboost: async () => (await import('../boosters/index.js')).importBooster,
  ydf: async () => {
    const { importYdf, lowerYdf } = await import('../boosters/ydf/index.js');
    return (path, settings, opened) =>
      opened === undefined ? importYdf(path, settings) : lowerYdf(path, opened, settings);
  },
  sklearn: async () => {
    const { importSklearn, lowerSklearn } = await import('../sklearn/index.js');
    return (path, settings, opened) =>
      opened === undefined ? importSklearn(path, settings) : lowerSklearn(path, opened, settings);
  },
  pmml: async () => (await import('../pmml/index.js')).importPmml,
};
