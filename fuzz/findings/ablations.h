// Ablations of a minimized case: what is changed to see whether it is the cause.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/findings/shrinking.h"

namespace fusesmith::fuzz {

// Whether the minimized case still fails without the rewrites that made its failing region, with normally
// distributed data of another seed, in one step, in other modes of the failing worker, and, of ONNX Runtime,
// without the optimizers that make the difference. Once `stop` says true, the rest has no outcome.
std::vector<Ablation> ablations_of(const Case& test_case, const Reproduction& seen, const Judging& judging,
                                   const Stop& stop = {});

// The smallest set that is found by leaving names out, if the case passes without all of them: it passes
// without these as well. Empty: it fails without all of them.
std::vector<std::string_view> needed_names(
    std::span<const std::string_view> names,
    const std::function<bool(std::span<const std::string_view>)>& passes);

}  // namespace fusesmith::fuzz
