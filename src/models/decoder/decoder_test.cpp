// The decoder against itself: its variants of one computation agree, gradients are those of differences, a cache
// changes nothing, and a plan counts what a run takes.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/plan/plan_backend.hpp"
#include "backends/reference/reference_backend.hpp"
#include "base/error.hpp"
#include "tests/support/golden_model.hpp"

namespace owlet {
namespace {

using namespace owlet::testing;

/// Two layers, grouped heads, width not a multiple of any vector.
DecoderConfig small_config(DecoderFamily family) {
  DecoderConfig c = family_defaults(family);
  const bool is_gpt = family == DecoderFamily::gpt2 || family == DecoderFamily::gptj;
  c.vocab_size = 43;
  c.width = 24;
  c.num_layers = 2;
  c.num_heads = 4;
  c.num_kv_heads = is_gpt ? 4 : 2;
  c.head_size = 6;
  c.feed_forward_width = 40;
  c.max_context = 16;
  return c;
}

std::unique_ptr<Backend> one_thread_cpu() {
  return make_cpu_backend({.num_threads = 1, .instruction_set = {}, .memory_limit_bytes = 0});
}

TestModel reference_model(const DecoderConfig& config) {
  return TestModel(make_reference_backend(), config, {.compute_type = DType::f64, .keeps_master = true});
}

TestModel cpu_model(const DecoderConfig& config, DType compute_type = DType::f32) {
  return TestModel(one_thread_cpu(), config, {.compute_type = compute_type, .keeps_master = true});
}

std::vector<int32_t> some_tokens(const std::string& name, int64_t count, int64_t vocab_size) {
  std::vector<int32_t> tokens;
  for (const int64_t value : hashed(name, count)) tokens.push_back(static_cast<int32_t>(value % vocab_size));
  return tokens;
}

/// Two rows of T = 12 tokens; with documents the first row holds three.
ModelInput some_input(TestModel& test, bool has_documents) {
  std::vector<int32_t> starts(24, 0), positions(24);
  if (has_documents) {
    std::fill(starts.begin() + 4, starts.begin() + 5, 4);
    std::fill(starts.begin() + 5, starts.begin() + 12, 5);
  }
  for (int32_t i = 0; i < 24; ++i) positions[static_cast<size_t>(i)] = i % 12 - starts[static_cast<size_t>(i)];
  ModelInput input;
  input.tokens = test.integers({2, 12}, some_tokens("tokens", 24, test.config().vocab_size));
  input.positions = test.integers({2, 12}, positions);
  if (has_documents) input.document_starts = test.integers({2, 12}, starts);
  return input;
}

Tensor some_targets(TestModel& test) {
  std::vector<int32_t> targets = some_tokens("targets", 24, test.config().vocab_size);
  targets[7] = -1;
  return test.integers({2, 12}, targets);
}

/// Losses and all gradients, one after the other.
std::vector<std::vector<double>> run_all(TestModel& test, const ModelInput& input) {
  std::vector<std::vector<double>> results = {test.run_backward(input, some_targets(test), 23)};
  for (const Parameter& parameter : test.model().parameters().all()) results.push_back(test.read(parameter.gradient));
  return results;
}

constexpr std::initializer_list<DecoderFamily> kAllFamilies = {
    DecoderFamily::llama, DecoderFamily::gpt2, DecoderFamily::mistral, DecoderFamily::qwen2, DecoderFamily::gptj};

TEST(Decoder, PlainAndFlashAttentionAgree) {
  for (const DecoderFamily family : kAllFamilies) {
    DecoderConfig config = small_config(family);
    if (family == DecoderFamily::mistral) config.sliding_window = 3;
    TestModel test = reference_model(config);
    const ModelInput input = some_input(test, true);
    const auto flash = run_all(test, input);
    test.model().set_run_options({.attention = AttentionKind::plain});
    const auto plain = run_all(test, input);
    // The same formula in float64 with sums in another order; numbers are below 8, about 50 sums of up to 43 terms.
    for (size_t i = 0; i < flash.size(); ++i) {
      ASSERT_EQ(flash[i].size(), plain[i].size());
      for (size_t j = 0; j < flash[i].size(); ++j) {
        EXPECT_NEAR(flash[i][j], plain[i][j], 8 * 50 * std::sqrt(43.0) * 0x1p-53) << to_string(family) << " " << i;
      }
    }
  }
}

TEST(Decoder, CheckpointedBlocksGiveTheSameBits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const DecoderFamily family : kAllFamilies) {
      TestModel test = cpu_model(small_config(family), dtype);
      const ModelInput input = some_input(test, true);
      const auto kept = run_all(test, input);
      test.model().set_run_options({.blocks_per_checkpoint = 1});
      EXPECT_EQ(run_all(test, input), kept) << to_string(family) << " " << to_string(dtype);
    }
  }
}

TEST(Decoder, CheckpointedBlocksNeedLessMemory) {
  DecoderConfig config = small_config(DecoderFamily::llama);
  config.num_layers = 8;
  const auto peak_activations = [&](bool checkpoints) {
    TestModel test = cpu_model(config);
    test.model().set_run_options({.blocks_per_checkpoint = checkpoints ? 1 : 0, .loss_chunk_rows = 4});
    run_all(test, some_input(test, false));
    return test.backend().allocator().statistics().peak_by_kind[static_cast<size_t>(MemoryKind::activations)];
  };
  EXPECT_LT(peak_activations(true), peak_activations(false) / 2);
}

TEST(Decoder, TheTapeKeepsWhatBackwardReads) {
  const DecoderConfig c = small_config(DecoderFamily::llama);
  TestModel test = cpu_model(c);
  const ModelInput input = some_input(test, false);
  Tape tape;
  test.model().parameters().watch_on(tape);
  Context recording(test.backend(), &tape);
  const Tensor losses = test.model().losses(recording, input, some_targets(test), 1.0f);
  // Numbers per token and buffer. In each layer: the block's input and middle, the statistics of their norms, rotated
  // q, k, and v, attention's result, a logarithm per head, gate and up; what the norms and SwiGLU made of them is
  // computed again. Besides: the last block's result, its norm's statistic, the gradient of the final hidden state, the
  // losses.
  const int64_t C = c.width, F = c.feed_forward_width, query = c.num_heads * c.head_size,
                kv = c.num_kv_heads * c.head_size;
  const std::vector<int64_t> of_layer = {C, C, 1, 1, query, kv, kv, query, c.num_heads, F, F};
  const std::vector<int64_t> besides = {C, 1, C, 1};
  const auto bytes_of = [](const std::vector<int64_t>& numbers) {
    size_t bytes = 0;
    // The allocator hands out blocks of 512 bytes.
    for (const int64_t count : numbers) bytes += (static_cast<size_t>(24 * count) * sizeof(float) + 511) / 512 * 512;
    return bytes;
  };
  const size_t kept =
      test.backend().allocator().statistics().in_use_by_kind[static_cast<size_t>(MemoryKind::activations)];
  EXPECT_EQ(kept, 2 * bytes_of(of_layer) + bytes_of(besides));
}

TEST(Decoder, GradientsAreThoseOfDifferences) {
  for (const DecoderFamily family : kAllFamilies) {
    DecoderConfig config = small_config(family);
    config.num_layers = 1;
    if (family == DecoderFamily::mistral) config.sliding_window = 4;
    TestModel test = reference_model(config);
    const ModelInput input = some_input(test, true);
    const Tensor targets = some_targets(test);
    test.run_backward(input, targets, 23);
    const auto mean_loss = [&] {
      const std::vector<double> losses = test.read(test.model().losses(test.ctx(), input, targets, 1.0f));
      return std::accumulate(losses.begin(), losses.end(), 0.0) * double{1.0f / 23.0f};
    };
    for (const std::string direction : {"first", "second", "third"}) {
      // The slope along a random direction of all weights; the error of a central difference falls with step^2.
      constexpr double kStep = 1e-5;
      double slope = 0;
      const auto move = [&](double step) {
        for (Parameter& parameter : test.model().parameters().all()) {
          const std::vector<double> towards = centred(parameter.name + direction, parameter.shape.num_elements());
          for (size_t i = 0; i < towards.size(); ++i) parameter.value.data<double>()[i] += step * towards[i];
        }
      };
      for (Parameter& parameter : test.model().parameters().all()) {
        const std::vector<double> towards = centred(parameter.name + direction, parameter.shape.num_elements());
        for (size_t i = 0; i < towards.size(); ++i) slope += towards[i] * parameter.gradient.data<double>()[i];
      }
      move(kStep);
      const double above = mean_loss();
      move(-2 * kStep);
      const double below = mean_loss();
      move(kStep);
      EXPECT_NEAR((above - below) / (2 * kStep), slope, 1e-6 * (1 + std::abs(slope))) << to_string(family);
    }
  }
}

/// Logits of row after row through a cache, in pieces of the given lengths, (B, T, V).
std::vector<double> cached_logits(TestModel& test, const std::vector<int64_t>& pieces) {
  constexpr int64_t kRows = 2, kTokens = 12;
  const int64_t V = test.config().vocab_size;
  const std::vector<int32_t> tokens = some_tokens("tokens", kRows * kTokens, V);
  std::vector<double> logits(static_cast<size_t>(kRows * kTokens * V));
  KvCacheTensors cache = test.model().make_cache(test.ctx(), kRows, 14);
  int64_t done = 0;
  for (const int64_t length : pieces) {
    std::vector<int32_t> piece, positions;
    for (int64_t b = 0; b < kRows; ++b) {
      for (int64_t t = done; t < done + length; ++t) {
        piece.push_back(tokens[static_cast<size_t>(b * kTokens + t)]);
        positions.push_back(static_cast<int32_t>(t));
      }
    }
    const std::vector<int32_t> lengths(kRows, static_cast<int32_t>(done + length));
    test.backend().write(cache.lengths, lengths.data());
    const ModelInput input{
        test.integers({kRows, length}, piece), test.integers({kRows, length}, positions), {}, &cache};
    const std::vector<double> part = test.read(test.model().logits(test.ctx(), input, false));
    for (int64_t b = 0; b < kRows; ++b) {
      std::copy_n(part.begin() + b * length * V, length * V, logits.begin() + (b * kTokens + done) * V);
    }
    done += length;
  }
  return logits;
}

TEST(Decoder, ACacheChangesNothing) {
  for (const DecoderFamily family : kAllFamilies) {
    DecoderConfig config = small_config(family);
    config.has_head_bias = family == DecoderFamily::gptj;
    if (family == DecoderFamily::mistral) config.sliding_window = 5;
    TestModel test = cpu_model(config);
    test.backend().allocator().poison_new_buffers(true);
    const std::vector<double> full = test.read(test.model().logits(test.ctx(), some_input(test, false), false));
    const std::vector<int64_t> one_by_one(12, 1);
    for (const std::vector<int64_t>& pieces : {one_by_one, {12}, {5, 4, 3}, {7, 1, 1, 1, 1, 1}}) {
      // 14 products in a row, sums of up to 43 terms, as in decoder_golden_test.
      EXPECT_LE(relative_difference(cached_logits(test, pieces), full), 4 * 14 * std::sqrt(43.0) * 0x1p-24)
          << to_string(family) << " in " << pieces.size() << " pieces";
    }
  }
}

TEST(Decoder, RowsOfDifferentLengthsShareACache) {
  TestModel test = cpu_model(small_config(DecoderFamily::llama));
  const int64_t V = test.config().vocab_size;
  const auto run_row = [&](const std::vector<int32_t>& tokens) {
    std::vector<int32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), 0);
    const auto T = static_cast<int64_t>(tokens.size());
    return test.read(test.model().logits(
        test.ctx(), {test.integers({1, T}, tokens), test.integers({1, T}, positions), {}, nullptr}, true));
  };
  // Row 0 has 3 tokens in the cache and row 1 has 5 when the next one arrives. Both are filled by five-token calls;
  // what row 0 holds behind its length is overwritten.
  KvCacheTensors cache = test.model().make_cache(test.ctx(), 2, 8);
  const std::vector<int32_t> filled = {5, 5}, lengths = {4, 6};
  test.backend().write(cache.lengths, filled.data());
  const std::vector<int32_t> tokens = {1, 2, 3, 40, 41, 6, 7, 8, 9, 10}, positions = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  test.model().hidden(test.ctx(), {test.integers({2, 5}, tokens), test.integers({2, 5}, positions), {}, &cache});
  test.backend().write(cache.lengths, lengths.data());
  const std::vector<double> logits = test.read(test.model().logits(
      test.ctx(), {test.integers({2, 1}, {11, 12}), test.integers({2, 1}, {3, 5}), {}, &cache}, true));
  const double tolerance = 4 * 14 * std::sqrt(43.0) * 0x1p-24;
  EXPECT_LE(relative_difference({logits.begin(), logits.begin() + V}, run_row({1, 2, 3, 11})), tolerance);
  EXPECT_LE(relative_difference({logits.begin() + V, logits.end()}, run_row({6, 7, 8, 9, 10, 12})), tolerance);
}

TEST(Decoder, LastOnlyIsTheLastRowOfAll) {
  TestModel test = cpu_model(small_config(DecoderFamily::gpt2));
  const ModelInput input = some_input(test, false);
  const Tensor last = test.model().logits(test.ctx(), input, true);
  EXPECT_EQ(last.shape(), (Shape{2, 1, 43}));
  const std::vector<double> all = test.read(test.model().logits(test.ctx(), input, false)), some = test.read(last);
  std::vector<double> expected(all.begin() + 11 * 43, all.begin() + 12 * 43);
  expected.insert(expected.end(), all.begin() + 23 * 43, all.end());
  // Another number of rows may take another kernel of the matrix product: sums of 24 terms in another order.
  EXPECT_LE(relative_difference(some, expected), 4 * std::sqrt(24.0) * 0x1p-24);
}

TEST(Decoder, DocumentsDoNotSeeEachOther) {
  TestModel test = cpu_model(small_config(DecoderFamily::llama));
  ModelInput input = some_input(test, true);
  const std::vector<double> before = test.read(test.model().logits(test.ctx(), input, false));
  std::vector<int32_t> tokens = some_tokens("tokens", 24, 43);
  tokens[2] = (tokens[2] + 1) % 43;  // in the first document of row 0
  input.tokens = test.integers({2, 12}, tokens);
  const std::vector<double> after = test.read(test.model().logits(test.ctx(), input, false));
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t row = i / 43;
    if (row < 2 || row >= 4) {
      EXPECT_EQ(before[i], after[i]) << "token " << row;
    }
  }
  EXPECT_NE(before[3 * 43], after[3 * 43]);
}

TEST(Decoder, Bf16StaysNearF32) {
  for (const DecoderFamily family : {DecoderFamily::llama, DecoderFamily::gpt2}) {
    TestModel exact = cpu_model(small_config(family)), rounded = cpu_model(small_config(family), DType::bf16);
    const auto expected = run_all(exact, some_input(exact, true)),
               results = run_all(rounded, some_input(rounded, true));
    // About 30 roundings to 8 bits in a row, as a random walk.
    EXPECT_LE(relative_difference(results[0], expected[0]), 4 * std::sqrt(30.0) * 0x1p-8) << to_string(family);
    for (const Parameter& parameter : rounded.model().parameters().all()) {
      EXPECT_EQ(parameter.lower_bits.defined(), parameter.shape.rank() == 2) << parameter.name;
      EXPECT_EQ(parameter.gradient.dtype(), DType::f32) << parameter.name;
      EXPECT_EQ(parameter.value.dtype(), parameter.shape.rank() == 2 ? DType::bf16 : DType::f32) << parameter.name;
    }
  }
}

TEST(Decoder, GenerationInBf16NeedsNoMasterWeights) {
  const DecoderConfig config = small_config(DecoderFamily::llama);
  TestModel with = cpu_model(config, DType::bf16);
  TestModel without(one_thread_cpu(), config, {.compute_type = DType::bf16, .keeps_master = false});
  // Random weights: halfway cases, which master weights round away from zero and others to even, are rare among them.
  for (TestModel* test : {&with, &without}) test->model().parameters().initialize(test->ctx(), 7);
  EXPECT_EQ(with.read(with.model().logits(with.ctx(), some_input(with, false), false)),
            without.read(without.model().logits(without.ctx(), some_input(without, false), false)));
  const auto weights = [](TestModel& test) {
    return test.backend().allocator().statistics().in_use_by_kind[static_cast<size_t>(MemoryKind::weights)];
  };
  EXPECT_LT(weights(without), 0.6 * static_cast<double>(weights(with)));
}

TEST(Decoder, APlanTakesTheMemoryOfARun) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool checkpoints : {false, true}) {
      const auto peak = [&](std::unique_ptr<Backend> backend) {
        TestModel test(std::move(backend), small_config(DecoderFamily::llama),
                       {.compute_type = dtype, .keeps_master = true});
        test.model().set_run_options({.blocks_per_checkpoint = checkpoints ? 1 : 0, .loss_chunk_rows = 8});
        run_all(test, some_input(test, true));
        return test.backend().allocator().statistics().peak_in_use_bytes;
      };
      EXPECT_EQ(peak(make_plan_backend(cpu_workspace_bytes)), peak(one_thread_cpu())) << to_string(dtype);
    }
  }
}

TEST(Decoder, StartsAsPublished) {
  DecoderConfig config = small_config(DecoderFamily::gpt2);
  config.width = 64;
  config.head_size = 16;
  config.feed_forward_width = 256;
  config.initializer_range = 0.03f;
  TestModel test = cpu_model(config);
  test.model().parameters().initialize(test.ctx(), 7);
  for (const Parameter& parameter : test.model().parameters().all()) {
    const std::vector<double> values = test.read(parameter.value);
    const bool ends_in_residual =
        parameter.name.ends_with("o_proj.weight") || parameter.name.ends_with("down_proj.weight");
    const double count = static_cast<double>(values.size());
    double expected = 0.03;
    if (ends_in_residual) expected /= std::sqrt(2.0 * 2.0);
    if (parameter.shape.rank() == 1) expected = parameter.name.ends_with("norm.weight") ? 1.0 : 0.0;
    // The deviation of a sample of n has itself a deviation of about 1 / sqrt(2 n): five of those.
    const double tolerance = parameter.shape.rank() == 1 ? 0.0 : 5 * expected / std::sqrt(2 * count);
    EXPECT_NEAR(norm_of(values) / std::sqrt(count), expected, tolerance) << parameter.name;
  }
}

TEST(Decoder, CountsItsParametersAndWork) {
  for (const DecoderFamily family : kAllFamilies) {
    for (const bool ties : {false, true}) {
      DecoderConfig config = small_config(family);
      config.ties_embeddings = ties;
      config.has_head_bias = family == DecoderFamily::gptj;
      TestModel test = reference_model(config);
      EXPECT_EQ(config.num_parameters(), test.model().parameters().num_elements()) << to_string(family);
    }
  }
  // q and o 24 * 24, k and v 24 * 12, three times 24 * 40, in two layers; head 43 * 24.
  TestModel test = reference_model(small_config(DecoderFamily::llama));
  EXPECT_EQ(test.model().training_flops_per_token(), 6.0 * (2 * (2 * 576 + 2 * 288 + 3 * 960) + 43 * 24));
}

TEST(Decoder, RefusesWhatDoesNotFit) {
  TestModel test = cpu_model(small_config(DecoderFamily::llama));
  const ModelInput good = some_input(test, false);
  ModelInput long_input{test.integers({1, 17}, std::vector<int32_t>(17, 0)),
                        test.integers({1, 17}, std::vector<int32_t>(17, 0)),
                        {},
                        nullptr};
  EXPECT_THROW(test.model().hidden(test.ctx(), long_input), Error);
  EXPECT_THROW(test.model().hidden(test.ctx(), {good.tokens, {}, {}, nullptr}), Error);
  KvCacheTensors cache = test.model().make_cache(test.ctx(), 2, 16);
  cache.keys.pop_back();
  EXPECT_THROW(test.model().hidden(test.ctx(), {good.tokens, good.positions, {}, &cache}), Error);
  EXPECT_THROW(test.model().make_cache(test.ctx(), 1, 17), Error);

  DecoderConfig gptj = small_config(DecoderFamily::gptj);
  gptj.has_head_bias = true;
  TestModel with_bias = cpu_model(gptj);
  EXPECT_THROW(with_bias.model().losses(with_bias.ctx(), some_input(with_bias, false), some_targets(with_bias), 1.0f),
               Error);
}

}  // namespace
}  // namespace owlet
