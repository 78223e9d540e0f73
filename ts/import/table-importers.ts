// The importers of models of columns, each loaded when a model of its format is. Importer's worker
// thread.
import type { TableImporters } from './import-table.js';

export const TABLE_IMPORTERS: TableImporters = {
  spark: async () => (await import('../spark/index.js')).importSpark,
  mleap: async () => (await import('../mleap/index.js')).importMleap,
  pmml: async () => (await import('../pmml/index.js')).importPmml,
};
