// A plug-in with a fault of one's choice, for the tests of fusesmith: the environment variable FAULT names
// it. Computes relu(x) + y of f32 tensors of one shape. Built with other macros, the library itself is wrong:
// another version of the ABI, a function that is missing, tensors on a GPU.
#include <fusesmith/plugin.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef FAULTY_ABI
#define FAULTY_ABI FUSESMITH_PLUGIN_ABI_VERSION
#endif
#ifndef FAULTY_DEVICE
#define FAULTY_DEVICE kDLCPU
#endif

namespace {

bool is(const char* fault) {
  const char* chosen = std::getenv("FAULT");
  return chosen && std::strcmp(chosen, fault) == 0;
}

[[maybe_unused]] const bool loaded = [] {
  // For tests that ask whether a library was loaded.
  if (const char* trace = std::getenv("TRACE_OF_LOADING")) {
    if (FILE* file = std::fopen(trace, "w")) std::fclose(file);
  }
  if (is("exits_at_load")) _exit(3);
  if (is("prints_to_standard_output")) std::puts("loading the library ...");
  return true;
}();

// Faults that end the call. A library without fusesmith_plugin_run does not use them.
[[maybe_unused]] const char* fail() {
  if (is("returns_an_error")) return "no kernel image\nfor this device";
  if (is("returns_out_of_memory")) return FUSESMITH_PLUGIN_OUT_OF_MEMORY ": 2 TB asked";
  if (is("throws")) throw std::runtime_error("no such row");
  if (is("throws_a_number")) throw 3;
  if (is("throws_bad_alloc")) throw std::bad_alloc();
  if (is("exits")) std::exit(0);
  if (is("aborts")) std::abort();
  if (is("segfaults")) std::raise(SIGSEGV);
  if (is("hangs")) sleep(3600);
  return nullptr;
}

// Faults that spoil memory or the result.
[[maybe_unused]] void spoil(float* x, float* y, float* result, int64_t n, const std::vector<float>& before) {
  if (is("zeros")) std::fill_n(result, n, 0.0F);
  if (is("overwrites_an_input")) x[n - 1] += 1;
  if (is("writes_after_an_output")) result[n] = 1;
  if (is("writes_before_an_output")) result[-1] = 1;
  if (is("writes_after_an_input")) y[n] = 1;
  if (is("leaves_an_element")) result[n - 1] = before.back();
  if (is("adds_to_an_output")) result[0] += before[0];
  if (is("last_bit_depends_on_memory") && before[0] != 0) result[0] = std::nextafter(result[0], 1e30F);
  if (is("reads_after_an_input")) result[n - 1] += x[n] == 0 ? 0.0F : 1.0F;
  if (is("differs_from_run_to_run")) {
    static int runs = 0;
    if (++runs % 4 == 0) result[0] = std::nextafter(result[0], 1e30F);
  }
  if (is("remembers_addresses")) {
    static std::map<const float*, std::vector<float>> answers;
    const auto& answer = answers.try_emplace(x, result, result + n).first->second;
    std::copy(answer.begin(), answer.end(), result);
  }
}

}  // namespace

uint32_t fusesmith_plugin_abi_version(void) { return FAULTY_ABI; }

int32_t fusesmith_plugin_device_type(void) { return FAULTY_DEVICE; }

const char* fusesmith_plugin_supports(const char* graph) {
  if (is("segfaults_at_supports")) std::raise(SIGSEGV);
  if (is("throws_at_supports")) throw std::runtime_error("no such graph");
  const bool known = std::strstr(graph, "\"op\":\"relu\"") && std::strstr(graph, "\"op\":\"add\"");
  return known ? nullptr : "only relu and add";
}

const char* fusesmith_plugin_contract(const char*) {
  if (is("contract_is_no_json")) return "{{";
  if (is("contract_with_an_unknown_key")) return R"({"mood": "good"})";
  if (is("strict_contract")) return R"({"roundings": "kept"})";
  return nullptr;
}

#ifndef FAULTY_WITHOUT_RUN
const char* fusesmith_plugin_run(const char*, const DLTensor* inputs, size_t input_count,
                                 const DLTensor* outputs, size_t output_count, void* stream) {
  if (input_count != 2 || output_count != 1 || stream) return "unexpected arguments";
  if (is("prints_to_standard_output")) std::puts("a line of a log");
  if (const char* failed = fail()) return failed;
  auto *x = static_cast<float*>(inputs[0].data), *y = static_cast<float*>(inputs[1].data);
  auto* result = static_cast<float*>(outputs[0].data);
  int64_t n = 1;
  for (int i = 0; i < outputs[0].ndim; ++i) n *= outputs[0].shape[i];
  const std::vector<float> before(result, result + n);
  for (int64_t i = 0; i < n; ++i) result[i] = std::max(x[i], 0.0F) + y[i];
  spoil(x, y, result, n, before);
  return nullptr;
}
#endif
