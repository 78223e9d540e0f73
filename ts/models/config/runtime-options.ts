// Checks ONNX Runtime options set in a model's configuration against the table shared with the
// engine (native/engine/control/spec/options.h, which also resolves paths and makes the final
// check). Checking here gives each problem its location in the configuration. Control plane; pure.
import { RUNTIME_OPTION_CHARS_MAX } from '../../base/limits.js';
import { RUNTIME_OPTIONS } from '../../model/generated/runtime-options.js';
import type { OptionRule, OptionScope } from '../../model/generated/runtime-options.js';
import { echo, nearWord } from '../../base/text.js';

const BOOL_WORDS = ['0', '1', 'true', 'false', 'True', 'False'];
const AFFINITIES = /^[\d,;-]+$/;
const LIST = /^[\w,.:+-]+$/;
const NAME = /^[\w-][\w.-]{0,127}$/;
const WHOLE = /^-?\d{1,16}$/;
/** The runtime reads C strings, which end at NUL. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Triton's option names that differ from ONNX Runtime's. */
const TRITON_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tensorrt: {
    max_workspace_size_bytes: 'trt_max_workspace_size',
    int8_calibration_table_name: 'trt_int8_calibration_table_name',
    int8_use_native_calibration_table: 'trt_int8_use_native_calibration_table',
  },
  openvino: { precision_mode: 'precision' },
};

/** ONNX Runtime's name of a provider option. */
export function optionName(provider: string, name: string): string {
  const names = TRITON_NAMES[provider] ?? {};
  return Object.hasOwn(names, name) ? (names[name] ?? name) : name;
}

/** Paths always pass: the engine resolves them from the model's version folder. */
function fits({ kind, min = 0, max = 0, words = [] }: OptionRule, value: string): boolean {
  switch (kind) {
    case 'switch':
      return value === '0' || value === '1';
    case 'bool':
      return BOOL_WORDS.includes(value);
    case 'int':
      return WHOLE.test(value) && Number(value) >= min && Number(value) <= max;
    case 'words':
      return words.includes(value);
    case 'affinities':
      return AFFINITIES.test(value);
    case 'list':
      return LIST.test(value);
    case 'name':
      return NAME.test(value);
    case 'shapes':
    case 'path':
      return value !== '';
  }
}

/** Why a configuration may not set the option; undefined if it may. */
export function optionProblem(scope: OptionScope, name: string, value: string): string | undefined {
  if (CONTROL.test(name)) return `expected a name without control characters, got ${echo(name)}`;
  const rules = RUNTIME_OPTIONS[scope];
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  if (rule === undefined) {
    const known = Object.keys(rules).filter((one) => name.includes('.') === one.includes('.'));
    const meant = nearWord(name, known);
    const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
    return (
      "expected an option that a model's configuration may set (docs/reference/runtime-options.md), " +
      `got ${echo(value)}${hint}`
    );
  }
  if (CONTROL.test(value)) return `expected a value without control characters, got ${echo(value)}`;
  if (value.length <= RUNTIME_OPTION_CHARS_MAX && fits(rule, value)) return undefined;
  return `expected ${rule.expected}, got ${echo(value)}`;
}
