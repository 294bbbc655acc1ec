#include "fuzz/counts/resolutions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/counts/coverage_json.h"

namespace fusesmith::fuzz {
namespace {

constexpr double kBinsOfOctave = 4;
constexpr int kFinest = -240;  // 2^-60; the coarsest bin, 0, also has whatever is above 1

double upper_end(int bin) { return std::exp2(bin / kBinsOfOctave); }

}  // namespace

void Resolutions::add(std::optional<double> resolution) {
  if (!resolution || !(*resolution > 0)) return;
  const double bin = std::ceil(kBinsOfOctave * std::log2(*resolution));
  ++bins_[static_cast<int>(std::clamp(bin, static_cast<double>(kFinest), 0.0))];
}

void Resolutions::add(const Resolutions& other) {
  for (const auto& [bin, count] : other.bins_) bins_[bin] += count;
}

int64_t Resolutions::cases() const {
  int64_t cases = 0;
  for (const auto& [bin, count] : bins_) cases += count;
  return cases;
}

double Resolutions::median() const {
  int64_t left = (cases() + 1) / 2;
  for (const auto& [bin, count] : bins_) {
    left -= count;
    if (left <= 0) return upper_end(bin);
  }
  return 0;
}

nlohmann::ordered_json Resolutions::json() const {
  nlohmann::ordered_json bins = nlohmann::ordered_json::object();
  for (const auto& [bin, count] : bins_) bins[std::to_string(bin)] = count;
  return {{"cases", cases()}, {"median", median()}, {"quarter_octaves", std::move(bins)}};
}

void Resolutions::read(const Place& place) {
  const auto bins = place.member("quarter_octaves", true);
  if (!bins) return;
  for (const auto& [word, entry] : bins->members()) {
    int bin = 1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bin);
    if (error != std::errc() || end != word.data() + word.size() || bin < kFinest || bin > 0)
      return entry.fail_expected("a bin from " + std::to_string(kFinest) + " to 0 as the key");
    read_count(entry, bins_[bin]);
  }
}

}  // namespace fusesmith::fuzz
