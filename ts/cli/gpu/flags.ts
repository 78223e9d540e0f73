// The flags of `serval gpu` and `serval doctor`. Data only; control plane.
import { flag, type FlagRow, BOOL, TEXT } from '../../config/values/flag-row.js';
import { SERVE_FLAGS } from '../../config/flags.js';

export const GPU_FLAGS: readonly FlagRow[] = [
  flag(
    'tensorrt',
    'BOOL',
    BOOL,
    'false',
    "also install TensorRT 10 (3.7 GB, from NVIDIA's index); adopt: require it",
  ),
  flag(
    'to',
    'DIR',
    TEXT,
    '',
    'installation folder (default: SERVAL_GPU_FOLDER, else ~/.local/share/serval/gpu)',
  ),
  flag('index-url', 'URL', TEXT, '', "package index (default: pip's configuration, else PyPI)"),
  flag('copy', 'BOOL', BOOL, 'false', 'adopt: copy the libraries instead of linking to them'),
  flag('dry-run', 'BOOL', BOOL, 'false', 'adopt: report what is there and change nothing'),
  flag(
    'onnxruntime',
    'PATH',
    TEXT,
    '',
    'adopt: folder or wheel of onnxruntime-gpu (default: DIR, else a download of 247 MB)',
  ),
];

/** Flags of `serval gpu adopt` alone. */
export const ADOPT_ONLY_FLAGS: readonly string[] = ['copy', 'dry-run', 'onnxruntime'];

export const DOCTOR_FLAGS: readonly FlagRow[] = [
  flag('json', 'BOOL', BOOL, 'false', 'print one JSON object'),
  flag(
    'folder',
    'DIR',
    TEXT,
    '',
    'installation folder (default: SERVAL_GPU_FOLDER, else ~/.local/share/serval/gpu)',
  ),
  ...SERVE_FLAGS.filter((row) => row.name === 'onnxruntime-library'),
];
