// Functions of Spark that SQLTransformer's statements may not call here, and why: errors and
// docs/reference/tabular.md have them from this table. Importer's worker thread; constants.
// Source: SHOW FUNCTIONS of Spark 3.5.5 and 4.1.0.

/** A reason, and the functions that it is about. */
const GROUPS: readonly (readonly [reason: string, names: string])[] = [
  [
    'it aggregates rows',
    'any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate ' +
      'approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg ' +
      'bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count ' +
      'count_if count_min_sketch covar_pop covar_samp every first first_value grouping ' +
      'grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_sketch_agg_bigint ' +
      'kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by ' +
      'mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc ' +
      'regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy ' +
      'regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg ' +
      'sum theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum var_pop ' +
      'var_samp variance',
  ],
  [
    'it reads other rows',
    'cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number session_window ' +
      'window window_time',
  ],
  [
    'it adds rows',
    'collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer ' +
      'python_worker_logs range sql_keywords stack variant_explode variant_explode_outer',
  ],
  ['its results are random', 'aes_encrypt rand randn random randstr shuffle uniform uuid'],
  [
    'its result depends on when and where the statement runs',
    'curdate current_catalog current_database current_date current_schema current_time ' +
      'current_timestamp current_timezone current_user input_file_block_length ' +
      'input_file_block_start input_file_name localtimestamp monotonically_increasing_id now ' +
      'session_user spark_partition_id user version',
  ],
  ['it runs code that is not in the model', 'java_method reflect try_reflect'],
  [
    'functions with lambda arguments are not supported',
    'aggregate exists filter forall map_filter map_zip_with reduce transform transform_keys ' +
      'transform_values zip_with',
  ],
  [
    'its type (variant, time, geography or a sketch) is not supported',
    'approx_top_k_estimate hll_sketch_estimate hll_union is_variant_null ' +
      'kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float ' +
      'kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double ' +
      'kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double ' +
      'kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double ' +
      'kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double ' +
      'kll_sketch_to_string_float make_time parse_json schema_of_variant st_asbinary ' +
      'st_geogfromwkb st_geomfromwkb st_setsrid st_srid theta_difference theta_intersection ' +
      'theta_sketch_estimate theta_union time time_diff time_trunc to_time to_variant_object ' +
      'try_parse_json try_to_time try_variant_get variant_get',
  ],
  [
    'documents of this format are not supported',
    'from_avro from_csv from_json from_protobuf from_xml schema_of_avro schema_of_csv ' +
      'schema_of_json schema_of_xml to_avro to_csv to_protobuf to_xml xpath xpath_boolean ' +
      'xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string',
  ],
  ['models must not contain keys', 'aes_decrypt try_aes_decrypt'],
  ['language-specific rules are not supported', 'collate collation sentences'],
  [
    'its number formats are not supported; use format_number() or CAST',
    'to_char to_number to_varchar try_to_number',
  ],
];

/** By name in lower case: the reason. */
export const REFUSED_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(([reason, names]) => names.split(' ').map((name) => [name, reason] as const)),
);

/** For the documentation: reasons and names, in order. */
export const REFUSED_GROUPS: readonly (readonly [reason: string, names: readonly string[]])[] =
  GROUPS.map(([reason, names]) => [reason, names.split(' ')]);

/** The reason for which a statement that calls the function is refused. */
export function unsupportedText(name: string): string {
  const reason = REFUSED_FUNCTIONS.get(name);
  return `the function ${name}() is not supported${reason === undefined ? '' : `: ${reason}`}`;
}
