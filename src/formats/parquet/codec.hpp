// Decompression of pages: none, snappy, gzip, zstd. The library's own limits hold: nothing is written beyond the size
// that the page's header states, and memory is taken only as bytes are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace owlet::parquet {

/// Memory for one page, used again for the next; its bytes are not touched before they are written.
class PageBuffer {
 public:
  /// `size` bytes of any content; what was in them before is lost.
  std::span<std::byte> resize(size_t size);

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t capacity_ = 0;
};

/// One decompressor for one column; keeps its working memory.
class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  /// Fills `out` from `in`, packed with the codec of this number (parquet.thrift). Throws Error corrupt_file where the
  /// bytes are damaged or give more or fewer than out.size(), unsupported for other codecs, by name.
  void decompress(int32_t codec, std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr int32_t kUncompressed = 0;

/// Throws Error unsupported, naming the codec, unless decompress() knows it.
void check_codec(int32_t codec);

}  // namespace owlet::parquet
