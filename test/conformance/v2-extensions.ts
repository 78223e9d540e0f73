// The extensions that the server must list: those that tests show to work. Data only. Source:
// v2-protocol.md 2.
export const V2_EXTENSIONS: readonly string[] = [
  'binary_tensor_data',
  'classification',
  'logging',
  'model_configuration',
  'model_repository',
  'model_repository(unload_dependents)',
  'parameters',
  'schedule_policy',
  'sequence',
  'sequence(string_id)',
  'statistics',
  'tabular_v1',
  'trace',
];
