#include "base/paths.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace owlet {
namespace {

/// Sets or unsets (nullptr) an environment variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) previous_ = old;
    set(value);
  }
  ~Variable() { set(previous_ ? previous_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }
  const char* name_;
  std::optional<std::string> previous_;
};

TEST(Paths, FollowXdg) {
  const Variable owlet_home("OWLET_HOME", nullptr), home("HOME", "/home/ada"), config("XDG_CONFIG_HOME", "/c"),
      data("XDG_DATA_HOME", ""), cache("XDG_CACHE_HOME", "relative"), state("XDG_STATE_HOME", nullptr);
  EXPECT_EQ(config_dir(), "/c/owlet");
  EXPECT_EQ(data_dir(), "/home/ada/.local/share/owlet");
  EXPECT_EQ(cache_dir(), "/home/ada/.cache/owlet");
  EXPECT_EQ(state_dir(), "/home/ada/.local/state/owlet");
}

TEST(Paths, OwletHomeHoldsEverything) {
  const Variable owlet_home("OWLET_HOME", "/o"), config("XDG_CONFIG_HOME", "/c");
  EXPECT_EQ(config_dir(), "/o/config");
  EXPECT_EQ(data_dir(), "/o/data");
  EXPECT_EQ(cache_dir(), "/o/cache");
  EXPECT_EQ(state_dir(), "/o/state");
}

TEST(Paths, WithoutHomeTheUserDatabaseAnswers) {
  const Variable owlet_home("OWLET_HOME", nullptr), home("HOME", nullptr), config("XDG_CONFIG_HOME", nullptr);
  EXPECT_TRUE(config_dir().is_absolute());
}

}  // namespace
}  // namespace owlet
