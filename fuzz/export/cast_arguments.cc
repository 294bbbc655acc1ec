#include "fuzz/export/cast_arguments.h"

#include "fuzz/render/code.h"

namespace fusesmith::fuzz {

std::string cast_arguments(const Cast& op) {
  const DtypeInfo& about = info(op.dtype);
  const std::string special = about.has_infinity ? "inf" : "nan";
  return comma_separated({std::to_string(about.precision), std::to_string(about.min_exponent),
                          number_text(about.lowest), number_text(about.max_finite),
                          op.overflow == Overflow::saturate || !about.has_nan ? "None" : special,
                          python_quoted(kRoundings[static_cast<size_t>(op.rounding)])});
}

}  // namespace fusesmith::fuzz
