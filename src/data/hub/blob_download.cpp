#include "data/hub/blob_download.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/human.hpp"
#include "data/hub/digest.hpp"
#include "data/hub/hub_names.hpp"
#include "data/hub/retry_wait.hpp"
#include "data/hub/url.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

constexpr int kOk = 200, kPartialContent = 206, kRangeNotSatisfiable = 416;

/// The .incomplete file: appended to, cut, moved to its final name.
class PartialFile {
 public:
  explicit PartialFile(fs::path path) : path_(std::move(path)) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) fail_with_errno("create");
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) fail_with_errno("read");
    bytes_ = static_cast<uint64_t>(status.st_size);
  }
  ~PartialFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  uint64_t bytes() const { return bytes_; }
  const fs::path& path() const { return path_; }

  void append(std::string_view piece) {
    while (!piece.empty()) {
      const ssize_t written = pwrite(descriptor_, piece.data(), piece.size(), static_cast<off_t>(bytes_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_with_errno("write");
      bytes_ += static_cast<uint64_t>(written);
      piece.remove_prefix(static_cast<size_t>(written));
    }
  }
  void discard() {
    if (ftruncate(descriptor_, 0) != 0) fail_with_errno("cut");
    bytes_ = 0;
  }
  void move_to(const fs::path& target) {
    if (fsync(descriptor_) != 0) fail_with_errno("flush");
    if (rename(path_.c_str(), target.c_str()) != 0) fail_with_errno("rename");
  }

 private:
  [[noreturn]] void fail_with_errno(const char* what) const {
    throw Error(ErrorKind::io, fmt::format("cannot {} '{}': {}", what, path_.string(), std::strerror(errno)),
                errno == ENOSPC || errno == EDQUOT ? "free some space; the same command then goes on from here" : "");
  }

  fs::path path_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

/// One blob on its way.
class BlobDownload {
 public:
  BlobDownload(HubRequests& requests, const RepoCache& cache, const FileMetadata& metadata, const HubSubject& subject,
               TransferMeter& meter)
      : requests_(requests),
        cache_(cache),
        metadata_(metadata),
        subject_(subject),
        meter_(meter),
        file_(cache.incomplete(metadata.etag)),
        size_(metadata.size) {}

  BlobOutcome run(std::string& reason) {
    discard_if_too_long();
    check_disk_space();
    meter_.begin_file(subject_.what, file_.bytes(), size_.value_or(0));
    begin_digest();
    if (file_.bytes() > 0 && !(size_ && file_.bytes() == *size_)) {
      requests_.hooks().say("{}: {} are here already, fetching the rest", subject_.what, format_bytes(file_.bytes()));
    }
    Backoff backoff(requests_.settings().first_wait_seconds);
    while (!(size_ && file_.bytes() == *size_)) {
      const uint64_t before = file_.bytes();
      const HttpResponse response = request_rest();
      if (is_changed_ || has_expired(response)) return BlobOutcome::changed;
      if (!mismatch_.empty()) return give_up(reason);
      if (is_done(response)) break;
      if (file_.bytes() > before) backoff.reset();
      retry_or_throw(response, backoff);
    }
    return verify(reason);
  }

 private:
  void discard_if_too_long() {
    if (!size_ || file_.bytes() <= *size_) return;
    requests_.hooks().say("{}: {} are here but the file has {}; starting again", subject_.what,
                          format_bytes(file_.bytes()), format_bytes(*size_));
    file_.discard();
  }

  void check_disk_space() const {
    if (!size_) return;
    const uint64_t needed = *size_ - file_.bytes(), available = free_disk_bytes(file_.path());
    if (needed > available) {
      throw Error(ErrorKind::io,
                  fmt::format("{} needs {} more, but only {} are free at '{}'", subject_.what, format_bytes(needed),
                              format_bytes(available), cache_.cache().string()),
                  "free some space, or name another place with HF_HUB_CACHE");
    }
  }

  /// Asks for the bytes that are missing and appends what comes.
  HttpResponse request_rest() {
    HttpRequest request;
    request.url = metadata_.location;
    request.timeout_seconds = requests_.settings().download_timeout_seconds;
    if (file_.bytes() > 0) request.headers.push_back(fmt::format("Range: bytes={}-", file_.bytes()));
    is_changed_ = has_restarted_ = takes_body_ = false;
    mismatch_.clear();
    request.on_header = [&](const HttpResponse& response) { return begin_body(response); };
    request.on_body = [&](std::string_view piece) {
      check_length(file_.bytes() + piece.size());
      if (!mismatch_.empty()) fail(ErrorKind::corrupt_file, "{}", mismatch_);
      file_.append(piece);
      if (digest_) digest_->update(piece);
      meter_.add(piece.size());
    };
    try {
      return requests_.follow(request);
    } catch (const Error&) {
      if (mismatch_.empty()) throw;
      return {};
    }
  }

  /// Looks at the header of an answer; false if its body is of no use.
  bool begin_body(const HttpResponse& response) {
    if (response.status == kRangeNotSatisfiable) {
      restart("the server has no bytes behind those that are here");
      return false;
    }
    if (response.status != kOk && response.status != kPartialContent) return false;
    if (has_other_content(response)) {
      is_changed_ = true;
      return false;
    }
    if (response.status == kOk && file_.bytes() > 0) restart("the server cannot continue a file");
    if (response.status == kPartialContent && !fits_range(response)) return false;
    if (response.status == kOk) {
      if (const auto length = response.content_length()) check_total(*length);
    }
    takes_body_ = mismatch_.empty();
    return takes_body_;
  }

  /// A part of the file must begin where ours ends.
  bool fits_range(const HttpResponse& response) {
    const auto range = parse_content_range(response.header("content-range").value_or(""));
    if (!range || range->first != file_.bytes()) {
      restart("the server continues at another place than asked");
      return false;
    }
    if (range->total) check_total(*range->total);
    return true;
  }

  /// Only the endpoint's own entity tag says something: other hosts have their own kinds.
  bool has_other_content(const HttpResponse& response) const {
    const bool is_direct = origin_of(metadata_.location) == origin_of(requests_.settings().endpoint);
    const auto linked = response.header("x-linked-etag");
    const auto etag = linked ? linked : (is_direct ? response.header("etag") : std::nullopt);
    if (!etag) return false;
    const std::string tag = normalize_etag(*etag);
    const bool is_comparable = digest_kind_of(tag) == digest_kind_of(metadata_.etag);
    return is_comparable && tag != metadata_.etag;
  }

  /// Addresses on other hosts are signed for an hour or so; afterwards they answer like this.
  bool has_expired(const HttpResponse& response) const {
    const bool is_refusal = response.status >= 400 && response.status < 500 && !is_worth_retrying(response.status) &&
                            response.status != kRangeNotSatisfiable;
    return is_refusal && origin_of(metadata_.location) != origin_of(requests_.settings().endpoint);
  }

  void check_total(uint64_t total) {
    if (!size_) size_ = total;
    if (total != *size_) mismatch_ = fmt::format("the server offers {} bytes where {} were announced", total, *size_);
  }

  void check_length(uint64_t length) {
    if (size_ && length > *size_) mismatch_ = fmt::format("more than the {} bytes announced came", *size_);
  }

  void restart(const char* why) {
    if (file_.bytes() > 0) requests_.hooks().say("{}: {}; starting again", subject_.what, why);
    file_.discard();
    begin_digest();
    meter_.restart_file();
    has_restarted_ = true;
  }

  BlobOutcome give_up(std::string& reason) {
    reason = mismatch_;
    file_.discard();
    unlink(file_.path().c_str());
    return BlobOutcome::damaged;
  }

  /// True when everything came that will; a file of unknown size ends with a whole answer.
  bool is_done(const HttpResponse& response) const {
    if (response.failure != HttpFailure::none || !takes_body_) return false;
    return !size_ || file_.bytes() == *size_;
  }

  void retry_or_throw(const HttpResponse& response, Backoff& backoff) {
    if (has_restarted_ && !takes_body_) {
      check(num_restarts_++ < 2, ErrorKind::io, "{}: the server refuses every part of the file ({})", subject_.what,
            describe_failure(response));
      return;
    }
    if (response.failure == HttpFailure::refused) {
      fail(ErrorKind::io, "{}: {}", subject_.what, describe_failure(response));
    }
    HttpResponse cause = response;
    if (response.failure == HttpFailure::none) {
      if (!is_worth_retrying(response.status) && !takes_body_) requests_.throw_if_failed(response, subject_);
      if (takes_body_) {
        cause.failure = HttpFailure::dropped;
        cause.failure_reason = fmt::format("the answer ended at {} bytes of {}", file_.bytes(), *size_);
      }
    }
    if (backoff.num_waits() + 1 >= requests_.settings().max_attempts) {
      throw HubUnreachable(
          ErrorKind::io,
          fmt::format("{}: the download broke off {} times in a row: {}", subject_.what, backoff.num_waits() + 1,
                      describe_failure(cause)),
          fmt::format("{} are kept; the same command goes on from there", format_bytes(file_.bytes())));
    }
    requests_.wait(backoff, cause, subject_);
  }

  /// The digest grows with the file, so that it need not be read again at the end; a part from before is read first.
  /// A git blob's begins with the size: where that is not known yet, verify() reads the file.
  void begin_digest() {
    digest_.reset();
    const auto kind = digest_kind_of(metadata_.etag);
    if (!kind || (*kind == DigestKind::git_blob && !size_)) return;
    digest_.emplace(*kind, size_.value_or(0));
    digest_file(file_.path(), file_.bytes(), *digest_, requests_.hooks().should_stop);
  }

  BlobOutcome verify(std::string& reason) {
    if (!size_) size_ = file_.bytes();
    if (!digest_) begin_digest();
    if (digest_) {
      const std::string found = digest_->finish();
      if (found != metadata_.etag) {
        const bool is_large = digest_kind_of(found) == DigestKind::sha256;
        mismatch_ = fmt::format("its {} is {} where {} was announced", is_large ? "SHA-256" : "git SHA-1", found,
                                metadata_.etag);
        return give_up(reason);
      }
    }
    file_.move_to(cache_.blob(metadata_.etag));
    return BlobOutcome::whole;
  }

  HubRequests& requests_;
  const RepoCache& cache_;
  const FileMetadata& metadata_;
  const HubSubject& subject_;
  TransferMeter& meter_;
  PartialFile file_;
  std::optional<Digest> digest_;
  std::optional<uint64_t> size_;
  bool is_changed_ = false, has_restarted_ = false, takes_body_ = false;
  int num_restarts_ = 0;
  std::string mismatch_;
};

}  // namespace

BlobOutcome download_blob(HubRequests& requests, const RepoCache& cache, const FileMetadata& metadata,
                          const HubSubject& subject, TransferMeter& meter, std::string& reason) {
  return BlobDownload(requests, cache, metadata, subject, meter).run(reason);
}

std::optional<ContentRange> parse_content_range(const std::string& value) {
  constexpr std::string_view kUnit = "bytes ";
  if (!value.starts_with(kUnit)) return std::nullopt;
  const std::string_view rest = std::string_view(value).substr(kUnit.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view span = rest.substr(0, slash), total = rest.substr(slash + 1);
  ContentRange range;
  if (total != "*") {
    range.total = parse_whole_number(total);
    if (!range.total) return std::nullopt;
  }
  if (span == "*") return range;
  const size_t dash = span.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  range.first = parse_whole_number(span.substr(0, dash));
  const auto last = parse_whole_number(span.substr(dash + 1));
  if (!range.first || !last || *last < *range.first) return std::nullopt;
  return range;
}

}  // namespace owlet
