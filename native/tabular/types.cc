// Names of value types. Any thread.
#include "tabular/types.h"

namespace serval::tabular {

std::string_view type_name(Type type) { return plan::EnumNameType(type); }

}  // namespace serval::tabular
