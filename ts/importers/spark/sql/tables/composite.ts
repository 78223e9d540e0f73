// Functions of arrays, maps and structures, hashes, encodings, intervals and more: the second half
// of the table in functions.ts. Importer's worker thread; constants.
// Source: Spark's FunctionRegistry.
import { rows, type SqlFunction } from './rows.js';

export const COMPOSITE_FUNCTIONS: readonly (readonly [string, SqlFunction])[] = [
  ...rows('arrays', 'any', {
    array: [0, -1],
    item: [2, 2],
    get: [2, 2],
    element_at: [2, 2],
    try_element_at: [2, 2],
    array_remove: [2, 2],
    array_append: [2, 2],
    array_prepend: [2, 2],
    array_insert: [3, 3],
    array_compact: [1, 1],
    array_max: [1, 1],
    array_min: [1, 1],
    sort_array: [1, 2],
    array_sort: [1, 1],
    slice: [3, 3],
    array_repeat: [2, 2],
    flatten: [1, 1],
    zip_arrays: [0, -1],
    array_distinct: [1, 1],
    array_union: [2, 2],
    array_intersect: [2, 2],
    array_except: [2, 2],
    sequence: [2, 3],
  }),
  ...rows('arrays', 'strings', { split: [2, 3, [1]], regexp_extract_all: [2, 3, [1]] }),
  ...rows('arrays', 'int32', { size: [1, 1], array_size: [1, 1] }),
  ...rows('arrays', 'int64', { array_position: [2, 2] }),
  ...rows('arrays', 'bool', { array_contains: [2, 2], arrays_overlap: [2, 2] }),
  ...rows('arrays', 'string', { array_join: [2, 3] }),
  ...rows('maps and structures', 'any', {
    map: [0, -1],
    map_from_arrays: [2, 2],
    map_from_entries: [1, 1],
    map_concat: [0, -1],
    map_keys: [1, 1],
    map_values: [1, 1],
    map_entries: [1, 1],
    str_to_map: [1, 3, [1, 2]],
    named_struct: [2, -1],
  }),
  ...rows('JSON and URLs', 'string', {
    get_json_object: [2, 2],
    to_json: [1, 1],
    parse_url: [2, 3],
  }),
  ...rows('JSON and URLs', 'int32', { json_array_length: [1, 1] }),
  ...rows('JSON and URLs', 'strings', { json_object_keys: [1, 1] }),
  ...rows('maps and structures', 'bool', { map_contains_key: [2, 2] }),
  ...rows('hashes', 'int32', { hash: [1, -1] }),
  ...rows('hashes', 'int64', { xxhash64: [1, -1], crc32: [1, 1] }),
  ...rows('hashes', 'string', { md5: [1, 1], sha1: [1, 1], sha2: [2, 2] }),
  ...rows('bits and bases', 'int32', { bit_count: [1, 1] }),
  ...rows('bits and bases', 'any', { bit_get: [2, 2] }),
  ...rows('bits and bases', 'string', { bin: [1, 1], conv: [3, 3], hex: [1, 1] }),
  ...rows('bits and bases', 'int64', {
    width_bucket: [4, 4],
    bitmap_bit_position: [1, 1],
    bitmap_bucket_number: [1, 1],
    bitmap_count: [1, 1],
  }),
  ...rows('mathematics', 'double', { csc: [1, 1], sec: [1, 1] }),
  ...rows('encodings', 'binary', {
    unhex: [1, 1],
    unbase64: [1, 1],
    to_binary: [1, 2],
    try_to_binary: [1, 2],
    encode: [2, 2],
  }),
  ...rows('encodings', 'string', {
    base64: [1, 1],
    decode: [2, 2],
    url_encode: [1, 1],
    url_decode: [1, 1],
    try_url_decode: [1, 1],
    make_valid_utf8: [1, 1],
    validate_utf8: [1, 1],
    try_validate_utf8: [1, 1],
  }),
  ...rows('encodings', 'bool', { is_valid_utf8: [1, 1] }),
  ...rows('text', 'string', {
    space: [1, 1],
    format_number: [2, 2],
    format_string: [1, -1],
    overlay: [3, 4],
    soundex: [1, 1],
    mask: [1, 5],
    quote: [1, 1],
    regexp_substr: [2, 2, [1]],
  }),
  ...rows('text', 'any', { elt: [2, -1] }),
  ...rows('text', 'int32', {
    find_in_set: [2, 2],
    regexp_count: [2, 2, [1]],
    regexp_instr: [2, 3, [1]],
  }),
  ...rows('text', 'bool', { luhn_check: [1, 1] }),
  ...rows('dates', 'date', { date_from_unix_date: [1, 1] }),
  ...rows('dates', 'int32', { unix_date: [1, 1], year_of_week: [1, 1], day_of_iso_week: [1, 1] }),
  ...rows('dates', 'int64', {
    unix_seconds: [1, 1],
    unix_millis: [1, 1],
    unix_micros: [1, 1],
    timestampdiff: [3, 3, [0]],
  }),
  ...rows('dates', 'string', { dayname: [1, 1], monthname: [1, 1] }),
  ...rows('dates', 'any', { seconds_of_minute: [1, 1] }),
  ...rows('dates', 'timestamp', {
    make_timestamp: [6, 6],
    make_timestamp_in: [7, 7, [6]],
    convert_timezone: [2, 3, [0]],
    timestampadd: [3, 3, [0]],
  }),
  ...rows('intervals', 'any', {
    interval_literal: [4, 4, [0, 1, 2, 3]],
    make_interval: [0, 7],
    make_dt_interval: [0, 4],
    make_ym_interval: [0, 2],
  }),
  ...rows('other', 'string', { typeof: [1, 1] }),
  ...rows('other', 'any', { assert_true: [1, 2], raise_error: [1, 1] }),
];

/** Other names of these functions. */
export const COMPOSITE_ALIASES: Readonly<Record<string, string>> = {
  cardinality: 'size',
  getbit: 'bit_get',
  make_timestamp_ltz: 'make_timestamp',
  make_timestamp_ntz: 'make_timestamp',
  printf: 'format_string',
  sha: 'sha1',
  to_timestamp_ltz: 'to_timestamp',
  to_timestamp_ntz: 'to_timestamp',
};

/** Functions that the importer writes as other calls: see composite-calls.ts and lower.ts. */
export const REWRITTEN_FUNCTIONS: readonly string[] = [
  'arrays_zip',
  'between',
  'date_part',
  'datepart',
  'equal_null',
  'extract',
  'if',
  'iff',
  'nullif',
  'nullifzero',
  'nvl2',
  'struct',
  'when',
  'zeroifnull',
];

/** Names in the table that only operators and rewritten calls have: statements cannot call them. */
export const INTERNAL_FUNCTIONS: ReadonlySet<string> = new Set(
  (
    'add subtract multiply divide bit_and bit_or bit_xor bit_not equal null_safe_equal not_equal ' +
    'less less_equal greater greater_equal item zip_arrays year_of_week day_of_iso_week ' +
    'seconds_of_minute make_timestamp_in interval_literal'
  ).split(' '),
);
