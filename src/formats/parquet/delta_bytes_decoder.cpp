// DELTA_LENGTH_BYTE_ARRAY (lengths, then bytes) and DELTA_BYTE_ARRAY (what a value shares with the one before it, then
// the rest).
#include <algorithm>

#include "base/error.hpp"
#include "formats/parquet/delta_decoder.hpp"
#include "formats/parquet/value_decoder.hpp"

namespace owlet::parquet {
namespace {

constexpr size_t kMaxArenaBytes = size_t{1} << 20;

/// Texts that follow their lengths.
class LengthsAndBytes {
 public:
  LengthsAndBytes() = default;
  explicit LengthsAndBytes(std::span<const std::byte> bytes) : lengths_(bytes) {
    const auto rest = bytes.subspan(lengths_.size());
    bytes_ = {reinterpret_cast<const char*>(rest.data()), rest.size()};
  }
  std::string_view next() {
    const int64_t length = lengths_.next();
    check(length >= 0 && static_cast<uint64_t>(length) <= bytes_.size(), ErrorKind::corrupt_file,
          "a value of {} bytes where {} are left", length, bytes_.size());
    const std::string_view value = bytes_.substr(0, static_cast<size_t>(length));
    bytes_.remove_prefix(value.size());
    return value;
  }

 private:
  DeltaDecoder lengths_;
  std::string_view bytes_;
};

class DeltaLengthValues final : public ValueDecoder {
 public:
  explicit DeltaLengthValues(std::span<const std::byte> page) {
    if (!page.empty()) values_ = LengthsAndBytes(page);
  }
  size_t decode(size_t max, ValueBatch& batch) override {
    batch.clear();
    for (size_t i = 0; i < max; ++i) batch.bytes.push_back(values_.next());
    return max;
  }

 private:
  LengthsAndBytes values_;
};

class DeltaByteArrayValues final : public ValueDecoder {
 public:
  DeltaByteArrayValues(std::span<const std::byte> page, size_t fixed_bytes) : fixed_bytes_(fixed_bytes) {
    if (page.empty()) return;
    shared_ = DeltaDecoder(page);
    rests_ = LengthsAndBytes(page.subspan(shared_.size()));
  }
  size_t decode(size_t max, ValueBatch& batch) override {
    batch.clear();
    ends_.clear();
    while (ends_.size() < max && (ends_.empty() || batch.arena.size() < kMaxArenaBytes)) {
      next();
      batch.arena.insert(batch.arena.end(), previous_.begin(), previous_.end());
      ends_.push_back(batch.arena.size());
    }
    size_t begin = 0;
    for (const size_t end : ends_) {
      batch.bytes.push_back(batch.in_arena(begin, end - begin));
      begin = end;
    }
    return ends_.size();
  }

 private:
  void next() {
    const int64_t shared = shared_.next();
    check(shared >= 0 && static_cast<uint64_t>(shared) <= previous_.size(), ErrorKind::corrupt_file,
          "a value shares {} bytes with one of {} bytes", shared, previous_.size());
    previous_.resize(static_cast<size_t>(shared));
    previous_.append(rests_.next());
    check(fixed_bytes_ == 0 || previous_.size() == fixed_bytes_, ErrorKind::corrupt_file,
          "a value of {} bytes in a column of {} bytes each", previous_.size(), fixed_bytes_);
  }

  DeltaDecoder shared_;
  LengthsAndBytes rests_;
  std::string previous_;
  std::vector<size_t> ends_;
  size_t fixed_bytes_;  ///< 0: any
};

}  // namespace

std::unique_ptr<ValueDecoder> make_delta_bytes_decoder(Encoding encoding, const SchemaLeaf& leaf,
                                                       std::span<const std::byte> page) {
  if (encoding == Encoding::delta_length_byte_array) return std::make_unique<DeltaLengthValues>(page);
  const bool is_fixed = leaf.type == PhysicalType::fixed_len_byte_array;
  return std::make_unique<DeltaByteArrayValues>(page, is_fixed ? fixed_value_bytes(leaf) : 0);
}

}  // namespace owlet::parquet
