#include "data/sources/byte_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kPackedBlockBytes = size_t{1} << 18;
constexpr size_t kSkipBlockBytes = size_t{1} << 18;
constexpr int kMaxZstdWindowLog = 27;

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(const fs::path& path) : path_(path.string()) {
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      fail(errno == ENOENT ? ErrorKind::not_found : ErrorKind::io, "cannot open '{}': {}", path_, std::strerror(errno));
    }
    posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~PlainStream() override { close(descriptor_); }
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

  size_t read(char* out, size_t count) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, out, count);
      if (got < 0 && errno == EINTR) continue;
      check(got >= 0, ErrorKind::io, "cannot read '{}' at byte {}: {}", path_, position_, std::strerror(errno));
      position_ += static_cast<uint64_t>(got);
      return static_cast<size_t>(got);
    }
  }

  void skip(uint64_t count) override {
    struct stat status {};
    const bool is_regular = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    check(is_regular, ErrorKind::io, "cannot go to byte {} of '{}': it is no regular file", position_ + count, path_);
    const auto size = static_cast<uint64_t>(status.st_size);
    check(position_ <= size && count <= size - position_, ErrorKind::corrupt_file,
          "'{}' has {} bytes, expected at least {}", path_, size, position_ + count);
    position_ += count;
    check(lseek(descriptor_, static_cast<off_t>(position_), SEEK_SET) >= 0, ErrorKind::io,
          "cannot go to byte {} of '{}': {}", position_, path_, std::strerror(errno));
  }

  uint64_t file_bytes_read() const override { return position_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t position_ = 0;
};

/// What the two packed kinds share: a window of packed bytes, and skipping by unpacking.
class PackedStream : public ByteStream {
 public:
  explicit PackedStream(const fs::path& path) : path_(path.string()), file_(path), packed_(kPackedBlockBytes) {}

  void skip(uint64_t count) override {
    std::vector<char> block(kSkipBlockBytes);
    const uint64_t wanted = count;
    while (count > 0) {
      const size_t got = read(block.data(), static_cast<size_t>(std::min<uint64_t>(count, block.size())));
      check(got > 0, ErrorKind::corrupt_file, "'{}' ends {} bytes before byte {} of its text", path_, count, wanted);
      count -= got;
    }
  }

  uint64_t file_bytes_read() const override { return file_.file_bytes_read(); }

 protected:
  /// Reads on where all packed bytes are used; false at the end of the file.
  bool refill() {
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = file_.read(packed_.data(), packed_.size());
    return end_ > 0;
  }
  [[noreturn]] void fail_cut_off() const {
    fail(ErrorKind::corrupt_file, "'{}' is cut off: it ends inside its packed data after {} bytes", path_,
         file_.file_bytes_read());
  }
  [[noreturn]] void fail_damaged(std::string_view reason) const {
    fail(ErrorKind::corrupt_file, "'{}' is damaged near byte {}: {}", path_, file_.file_bytes_read() - (end_ - begin_),
         reason);
  }

  std::string path_;
  PlainStream file_;
  std::vector<char> packed_;
  size_t begin_ = 0, end_ = 0;
};

/// gzip (RFC 1952), any number of members.
class GzipStream final : public PackedStream {
 public:
  explicit GzipStream(const fs::path& path) : PackedStream(path) {
    constexpr int kGzipOnly = 15 + 16;
    check(inflateInit2(&inflater_, kGzipOnly) == Z_OK, ErrorKind::out_of_memory, "no memory to unpack '{}'", path_);
  }
  ~GzipStream() override { inflateEnd(&inflater_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t read(char* out, size_t count) override {
    inflater_.next_out = reinterpret_cast<Bytef*>(out);
    inflater_.avail_out = static_cast<uInt>(std::min<size_t>(count, size_t{1} << 30));
    const uInt wanted = inflater_.avail_out;
    while (inflater_.avail_out == wanted && wanted > 0) {
      if (!refill()) {
        if (!is_between_members_ || num_members_ == 0) fail_cut_off();
        return 0;
      }
      if (is_between_members_ && num_members_ > 0 && skip_padding()) continue;
      is_between_members_ = false;
      inflate_some();
    }
    return wanted - inflater_.avail_out;
  }

 private:
  /// Zeros behind the last member fill a block of a tape or a disk.
  bool skip_padding() {
    const size_t before = begin_;
    while (begin_ < end_ && packed_[begin_] == 0) ++begin_;
    return begin_ != before;
  }

  void inflate_some() {
    inflater_.next_in = reinterpret_cast<Bytef*>(packed_.data() + begin_);
    inflater_.avail_in = static_cast<uInt>(end_ - begin_);
    const int result = inflate(&inflater_, Z_NO_FLUSH);
    begin_ = end_ - inflater_.avail_in;
    if (result == Z_STREAM_END) {
      ++num_members_;
      is_between_members_ = true;
      inflateReset(&inflater_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail_damaged(inflater_.msg != nullptr ? inflater_.msg : "no gzip data");
    }
  }

  z_stream inflater_ = {};
  bool is_between_members_ = true;
  uint64_t num_members_ = 0;
};

/// Zstandard (RFC 8878), any number of frames.
class ZstdStream final : public PackedStream {
 public:
  explicit ZstdStream(const fs::path& path) : PackedStream(path), stream_(ZSTD_createDStream()) {
    check(stream_ != nullptr, ErrorKind::out_of_memory, "no memory to unpack '{}'", path_);
    ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }
  ~ZstdStream() override { ZSTD_freeDStream(stream_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  size_t read(char* out, size_t count) override {
    ZSTD_outBuffer output{out, count, 0};
    while (output.pos == 0 && count > 0) {
      // A frame may still hold text back when its packed bytes are all read.
      const bool has_input = refill();
      if (!has_input && (is_between_frames_ || !is_held_back_)) {
        if (!is_between_frames_ || !has_begun_) fail_cut_off();
        return 0;
      }
      ZSTD_inBuffer input{packed_.data() + begin_, end_ - begin_, 0};
      const size_t result = ZSTD_decompressStream(stream_, &output, &input);
      begin_ += input.pos;
      if (ZSTD_isError(result) != 0) fail_damaged(ZSTD_getErrorName(result));
      has_begun_ = true;
      is_between_frames_ = result == 0;
      is_held_back_ = output.pos == output.size;
    }
    return output.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool is_between_frames_ = true, has_begun_ = false, is_held_back_ = false;
};

}  // namespace

bool is_compressed_name(const fs::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".gz" || extension == ".zst";
}

std::string inner_extension(const fs::path& path) {
  return lower_extension(is_compressed_name(path) ? path.stem() : path);
}

std::unique_ptr<ByteStream> open_byte_stream(const fs::path& path) {
  std::error_code ignored;
  check(!fs::is_directory(path, ignored), ErrorKind::invalid_argument, "'{}' is a folder, expected a file",
        path.string());
  const std::string extension = lower_extension(path);
  if (extension == ".gz") return std::make_unique<GzipStream>(path);
  if (extension == ".zst") return std::make_unique<ZstdStream>(path);
  return std::make_unique<PlainStream>(path);
}

}  // namespace owlet
