// What a Hub answers: lists of files and of parquet files, headers. Whatever is accepted names only safe paths.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "data/hub/blob_download.hpp"
#include "data/hub/hub_client.hpp"
#include "data/hub/hub_names.hpp"
#include "data/hub/parquet_listing.hpp"
#include "data/hub/retry_wait.hpp"
#include "data/hub/url.hpp"

namespace {

void read_lists(const std::string& text) {
  try {
    const owlet::Json document = owlet::parse_json(text, "input");
    if (document.is_array()) {
      for (const auto& file : owlet::parse_tree_page(document, "input")) {
        if (!owlet::is_safe_path(file.path)) std::abort();
      }
    } else {
      for (const auto& file : owlet::parse_parquet_listing(document, "input").files) {
        if (!owlet::is_safe_path(file.path) || !owlet::is_safe_path(file.revision)) std::abort();
      }
    }
  } catch (const owlet::Error&) {
  }
}

void read_headers(const std::string& text) {
  owlet::next_link(text);
  owlet::parse_content_range(text);
  owlet::parse_retry_after(text, {});
  owlet::percent_decode(text);
  owlet::HttpResponse response;
  response.headers["ratelimit"] = text;
  owlet::asked_wait_seconds(response, {});
  const std::string etag = owlet::normalize_etag(text);
  if (owlet::is_plain_token(etag) && !owlet::is_safe_path(etag)) std::abort();
  try {
    owlet::origin_of(owlet::redirect_target("https://huggingface.co/datasets/a/b", text));
  } catch (const owlet::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_lists(text);
  read_headers(text);
  return 0;
}
