// The measured errors of a backend's scalar functions, as text and as JSON.
#pragma once

#include <span>
#include <string>

#include "backends/backend.h"
#include "fuzz/run/function_errors.h"

namespace fusesmith::fuzz {

// Of what the errors are.
struct MeasuredBackend {
  std::string name;
  Versions versions;
  std::string device;
  bool every_f32 = false;

  explicit MeasuredBackend(const Backend& backend, bool every_f32);
  // "NAME-VERSION-DEVICE.json", safe as a file name. The version is that of the library that the name begins
  // with ("torch:eager"), else those of all libraries.
  std::string file_name() const;
};

// The functions that are suspicious, one line each for what is wrong with them; empty: none is.
std::string warnings_text(std::span<const FunctionErrors> functions);

std::string function_errors_text(const MeasuredBackend& backend, std::span<const FunctionErrors> functions,
                                 size_t columns);
std::string function_errors_json(const MeasuredBackend& backend, std::span<const FunctionErrors> functions);

}  // namespace fusesmith::fuzz
