// The namespaces of the top-level folders. Each one sees the names of the folders that it may include
// (scripts/check_tree holds the include rule), so a type name may be used in two folders without a clash.
#pragma once

namespace fusesmith {

namespace graph {}
namespace oracle {
using namespace graph;
}
namespace backends {
using namespace graph;
using namespace oracle;
}  // namespace backends
namespace minimizer {
using namespace graph;
}
namespace fuzz {
using namespace graph;
using namespace oracle;
using namespace backends;
using namespace minimizer;
}  // namespace fuzz

}  // namespace fusesmith
