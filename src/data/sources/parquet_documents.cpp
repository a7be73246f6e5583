#include "data/sources/parquet_documents.hpp"

namespace owlet {

ParquetDocuments::ParquetDocuments(const std::filesystem::path& file, const std::string& column, bool skips_bad)
    : column_(column), reader_({file}, column, skips_bad) {}

bool ParquetDocuments::next(std::string& document) {
  std::string_view text;
  while (reader_.next(text)) {
    if (text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos) {
      ++num_empty_;
      continue;
    }
    ++num_documents_;
    document = text;
    return true;
  }
  return false;
}

void ParquetDocuments::rewind() {
  reader_.rewind();
  num_documents_ = num_empty_ = 0;
}

}  // namespace owlet
