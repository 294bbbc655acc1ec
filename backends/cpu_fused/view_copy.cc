// ViewCopy: copies elements of any dtype.
#include "backends/common/storage.h"
#include "backends/common/strided.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {

void run_fused(const ViewCopy& copy, const RegionScope& scope, Tensor& out) {
  const Tensor& input = scope.at(copy.input);
  with_storage(out.type.dtype, [&]<class T>(std::type_identity<T>) {
    copy_strided(input.as<T>().data(), copy.sizes, copy.strides, out.as<T>().data());
  });
}

}  // namespace fusesmith::backends
