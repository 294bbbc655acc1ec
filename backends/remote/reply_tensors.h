// The tensors of a worker's reply (docs/workers.md).
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "graph/result.h"
#include "graph/tensor.h"

namespace fusesmith::backends {

// By name, those that the header lists in "tensors", out of the payload, which must hold them and nothing
// else.
Result<std::map<std::string, Tensor>> reply_tensors(const nlohmann::json& header,
                                                    std::span<const std::byte> payload);

// The text of that key; empty if the value is not a text.
std::string text_of(const nlohmann::json& object, const char* key);

}  // namespace fusesmith::backends
