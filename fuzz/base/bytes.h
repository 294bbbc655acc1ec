// Values as bytes, for messages between processes of one program. What a message consists of is declared
// once, by a function transfer(archive, value) that calls archive(member, ...): the same one writes and
// reads.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

template <class T>
concept PlainBytes = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class ByteWriter {
 public:
  std::string bytes;

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <PlainBytes T>
  void put(const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes += text;
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  template <class K, class V>
  void put(const std::map<K, V>& entries) {
    put(entries.size());
    for (const auto& entry : entries) put(entry);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) { transfer(*this, const_cast<T&>(value)); }
};

// What cannot be read leaves its value as it was, and ok() false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }

 private:
  // A number of elements: each takes at least one byte.
  size_t get_size() {
    size_t size = 0;
    get(size);
    if (size > bytes_.size()) ok_ = false;
    return ok_ ? size : 0;
  }
  template <PlainBytes T>
  void get(T& value) {
    ok_ = ok_ && bytes_.size() >= sizeof value;
    if (!ok_) return;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  void get(bool& value) {
    unsigned char byte = 0;
    get(byte);
    value = byte != 0;
  }
  void get(std::string& text) {
    const size_t size = get_size();
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool has = false;
    get(has);
    if (has) get(value.emplace());
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void get(std::vector<T>& values) {
    // One by one: an element may take more memory than it takes bytes.
    for (size_t left = get_size(); left > 0 && ok_; --left) {
      T value{};
      get(value);
      values.push_back(std::move(value));
    }
  }
  template <class K, class V>
  void get(std::map<K, V>& entries) {
    for (size_t left = get_size(); left > 0 && ok_; --left) {
      std::pair<K, V> entry;
      get(entry);
      entries.insert(std::move(entry));
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& value) { transfer(*this, value); }

  std::string_view bytes_;
  bool ok_ = true;
};

template <class T>
std::string to_bytes(const T& value) {
  ByteWriter writer;
  writer(value);
  return std::move(writer.bytes);
}

// Nothing if the bytes are not such a value, and that alone.
template <class T>
std::optional<T> from_bytes(std::string_view bytes) {
  T value{};
  ByteReader reader(bytes);
  reader(value);
  if (!reader.at_end()) return std::nullopt;
  return value;
}

}  // namespace fusesmith::fuzz
