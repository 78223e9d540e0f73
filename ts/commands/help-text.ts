// The text of `serval help`. Control plane.
import { SERVE_FLAGS } from '../config/flags.js';
import type { FlagRow } from '../config/flags.js';

const INDENT = 34;

const USAGE = `serval: an inference server (TensorFlow Serving's and Predict Protocol V2 APIs)

  serval serve [PATH ...] [flags]   serve models: model files (x.onnx, x.pb, x.pmml, an archive),
                                    folders of such files, model folders, model repositories;
                                    NAME=PATH gives a model another name
  serval inspect PATH [--json]      show inputs, outputs, shapes, size, opset, producer; of a
                                    TensorFlow model its tags, signatures and operators; of a
                                    Spark, MLeap or PMML model its fields, outputs and stages
  serval import PATH --out FILE     write a TensorFlow model as ONNX, others as their plan
  serval key NAME GROUPS            make an API key: its line for --api-key-file on stdout, the
                                    key itself on stderr
  serval version                    show the version
  serval help                       show this text

Flags of serve (--flag value or --flag=value; underscores and dashes mean the same; the last
of several counts; the same names are the keys of the YAML file, where PATH is "paths"):

`;

/** Every command and every flag with its aliases and default. */
export function helpText(): string {
  const rows = SERVE_FLAGS.filter((row) => row.positional !== true);
  const inspect = line('--onnxruntime-library PATH', 'as for serve');
  const json = line('--json', 'one JSON object');
  const tags = line('--saved-model-tags TAGS', 'as for serve');
  const out = line('--out FILE', 'the ONNX file; constants go to FILE.data');
  const signature = line('--signature NAME', 'only this one (all, a file each)');
  const help = line('--help, -h', 'show this text');
  return (
    `${USAGE}${rows.map(flagLine).join('')}${help}\nFlags of inspect:\n\n${json}${inspect}` +
    `${tags}\nFlags of import:\n\n${out}${signature}${tags}`
  );
}

/** Prints it; answers exit code 0. */
export function printHelp(): number {
  process.stdout.write(helpText());
  return 0;
}

function flagLine(row: FlagRow): string {
  const names = [row.name, ...row.aliases].map((name) => `--${name}`).join(', ');
  const standard = row.default === '' ? '' : ` (${row.default})`;
  return line(`${names} ${row.value}`, `${row.help}${standard}`);
}

function line(left: string, right: string): string {
  const start = `  ${left}`;
  if (start.length < INDENT) return `${start.padEnd(INDENT)}${right}\n`;
  return `${start}\n${' '.repeat(INDENT)}${right}\n`;
}
