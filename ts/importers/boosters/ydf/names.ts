// The names of the files of a YDF model. Control plane, any thread; pure. Source: YDF's
// model/model_library.cc (DetectFilePrefix).

export const YDF_HEADER = 'header.pb';
export const YDF_DATA_SPEC = 'data_spec.pb';

/**
 * What the names of the model's files begin with, most often ""; undefined: the folder has no such
 * model, or several.
 */
export function ydfPrefix(names: readonly string[]): string | undefined {
  const prefixes = names
    .filter((name) => name.endsWith(YDF_DATA_SPEC) && !name.includes('/'))
    .map((name) => name.slice(0, -YDF_DATA_SPEC.length))
    .filter((prefix) => names.includes(`${prefix}${YDF_HEADER}`));
  return prefixes.length === 1 ? prefixes[0] : undefined;
}
