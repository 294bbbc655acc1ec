#include "backends/remote/reply_tensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fusesmith::backends {

namespace {

using Json = nlohmann::json;

}  // namespace

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::map<std::string, Tensor>> reply_tensors(const Json& header, std::span<const std::byte> payload) {
  std::map<std::string, Tensor> tensors;
  const auto list = header.find("tensors");
  if (list != header.end() && !list->is_array()) return Problem{"\"tensors\" is no list"};
  for (const Json& item : list == header.end() ? Json::array() : *list) {
    const std::string name = item.is_object() ? text_of(item, "name") : "";
    const auto type = parse_tensor_type(item.is_object() ? text_of(item, "type") : "");
    if (name.empty() || !type) return Problem{"a tensor without a name or a valid type"};
    if (element_count(*type) > kMaxElements) return Problem{"'" + name + "' is too large"};
    if (static_cast<uint64_t>(element_count(*type) * size_of(type->dtype)) > payload.size())
      return Problem{"the payload ends within '" + name + "' (" + to_string(*type) + ")"};
    Tensor tensor(*type);
    std::copy_n(payload.begin(), tensor.bytes.size(), tensor.bytes.begin());
    const auto is_valid = [&](std::byte b) { return is_element(type->dtype, std::to_integer<uint8_t>(b)); };
    if (size_of(type->dtype) == 1 && !std::all_of(tensor.bytes.begin(), tensor.bytes.end(), is_valid)) {
      const bool is_bool = type->dtype == Dtype::boolean;
      return Problem{"'" + name + "' holds " + (is_bool ? "a bool other than 0 and 1" : "a byte above 15")};
    }
    payload = payload.subspan(tensor.bytes.size());
    if (!tensors.emplace(name, std::move(tensor)).second) return Problem{"'" + name + "' was sent twice"};
  }
  if (!payload.empty())
    return Problem{std::to_string(payload.size()) + " bytes of payload belong to no tensor"};
  return tensors;
}

}  // namespace fusesmith::backends
