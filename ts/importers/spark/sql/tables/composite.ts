// Functions of arrays, maps and structures, hashes, encodings, intervals and more: the second half
// of the table in functions.ts. Importer's worker thread; constants.
// Source: Spark's FunctionRegistry.
import { rows, type SqlFunction } from './rows.js';

export const COMPOSITE_FUNCTIONS: readonly (readonly [string, SqlFunction])[] = [
  ...rows('arrays', 'any', {
    array: [],
    item: [],
    get: [],
    element_at: [],
    try_element_at: [],
    array_remove: [],
    array_append: [],
    array_prepend: [],
    array_insert: [],
    array_compact: [],
    array_max: [],
    array_min: [],
    sort_array: [],
    array_sort: [],
    slice: [],
    array_repeat: [],
    flatten: [],
    zip_arrays: [],
    array_distinct: [],
    array_union: [],
    array_intersect: [],
    array_except: [],
    sequence: [],
  }),
  ...rows('arrays', 'strings', { split: [1], regexp_extract_all: [1] }),
  ...rows('arrays', 'int32', { size: [], array_size: [] }),
  ...rows('arrays', 'int64', { array_position: [] }),
  ...rows('arrays', 'bool', { array_contains: [], arrays_overlap: [] }),
  ...rows('arrays', 'string', { array_join: [] }),
  ...rows('maps and structures', 'any', {
    map: [],
    map_from_arrays: [],
    map_from_entries: [],
    map_concat: [],
    map_keys: [],
    map_values: [],
    map_entries: [],
    str_to_map: [1, 2],
    named_struct: [],
  }),
  ...rows('JSON and URLs', 'string', {
    get_json_object: [],
    to_json: [],
    parse_url: [],
  }),
  ...rows('JSON and URLs', 'int32', { json_array_length: [] }),
  ...rows('JSON and URLs', 'strings', { json_object_keys: [] }),
  ...rows('maps and structures', 'bool', { map_contains_key: [] }),
  ...rows('hashes', 'int32', { hash: [] }),
  ...rows('hashes', 'int64', { xxhash64: [], crc32: [] }),
  ...rows('hashes', 'string', { md5: [], sha1: [], sha2: [] }),
  ...rows('bits and bases', 'int32', { bit_count: [] }),
  ...rows('bits and bases', 'any', { bit_get: [] }),
  ...rows('bits and bases', 'string', { bin: [], conv: [], hex: [] }),
  ...rows('bits and bases', 'int64', {
    width_bucket: [],
    bitmap_bit_position: [],
    bitmap_bucket_number: [],
    bitmap_count: [],
  }),
  ...rows('mathematics', 'double', { csc: [], sec: [] }),
  ...rows('encodings', 'binary', {
    unhex: [],
    unbase64: [],
    to_binary: [],
    try_to_binary: [],
    encode: [],
  }),
  ...rows('encodings', 'string', {
    base64: [],
    decode: [],
    url_encode: [],
    url_decode: [],
    try_url_decode: [],
    make_valid_utf8: [],
    validate_utf8: [],
    try_validate_utf8: [],
  }),
  ...rows('encodings', 'bool', { is_valid_utf8: [] }),
  ...rows('text', 'string', {
    space: [],
    format_number: [],
    format_string: [],
    overlay: [],
    soundex: [],
    mask: [],
    quote: [],
    regexp_substr: [1],
  }),
  ...rows('text', 'any', { elt: [] }),
  ...rows('text', 'int32', {
    find_in_set: [],
    regexp_count: [1],
    regexp_instr: [1],
  }),
  ...rows('text', 'bool', { luhn_check: [] }),
  ...rows('dates', 'date', { date_from_unix_date: [] }),
  ...rows('dates', 'int32', { unix_date: [], year_of_week: [], day_of_iso_week: [] }),
  ...rows('dates', 'int64', {
    unix_seconds: [],
    unix_millis: [],
    unix_micros: [],
    timestampdiff: [0],
  }),
  ...rows('dates', 'string', { dayname: [], monthname: [] }),
  ...rows('dates', 'any', { seconds_of_minute: [] }),
  ...rows('dates', 'timestamp', {
    make_timestamp: [],
    make_timestamp_in: [6],
    convert_timezone: [0],
    timestampadd: [0],
  }),
  ...rows('intervals', 'any', {
    interval_literal: [0, 1, 2, 3],
    make_interval: [],
    make_dt_interval: [],
    make_ym_interval: [],
  }),
  ...rows('other', 'string', { typeof: [] }),
  ...rows('other', 'any', { assert_true: [], raise_error: [] }),
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
