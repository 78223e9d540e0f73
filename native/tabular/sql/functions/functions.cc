// The functions of this folder. Load thread.
#include <vector>

#include "tabular/sql/functions/tables.h"

namespace serval::tabular {

std::span<const Function> sql_functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> made;
    for (const auto table :
         {sql::arithmetic_functions(), sql::rounding_functions(), sql::math_functions(),
          sql::condition_functions(),  sql::cast_functions(),     sql::text_functions(),
          sql::pattern_functions(),    sql::date_functions(),     sql::try_functions(),
          sql::array_functions(),      sql::set_functions(),      sql::map_functions(),
          sql::hash_functions(),       sql::bit_functions(),      sql::encoding_functions(),
          sql::word_functions(),       sql::regex_functions(),    sql::time_functions(),
          sql::json_functions(),       sql::format_functions()}) {
      made.insert(made.end(), table.begin(), table.end());
    }
    return made;
  }();
  return all;
}

}  // namespace serval::tabular
