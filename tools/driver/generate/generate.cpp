#include <tools/block_log/block_log_reader.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/driver/import/unfinished_log.hpp>
#include <tools/progress.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <optional>
#include <system_error>
#include <type_traits>
#include <variant>

namespace chainbase::generate {
namespace {

/// Fast compression: blocks hold many operations, and the log can be made again.
constexpr block_log_options packing{.level = 3, .batch_bytes = 256 << 10};

std::vector<std::string> kinds_of(std::string_view chain) {
    using in_order = std::variant<payments::account_create, payments::payment>;
    static_assert(std::is_same_v<payments::operation, in_order>);
    std::vector<std::string> names;
    if (chain != social::generated_chain_name) return {"account_create", "payment"};
    for (std::size_t i = 0; i < operation_mix::kinds; ++i)
        names.emplace_back(name_of(static_cast<operation_mix::kind>(i)));
    return names;
}

/// Counts the generated blocks and shows the progress.
class tally {
public:
    explicit tally(std::uint64_t operations_wanted) : wanted_(operations_wanted) {}

    void add(const block& next) {
        ++report.blocks;
        report.transactions += next.transactions.size();
        for (const transaction& part : next.transactions) {
            report.operations += part.operations.size();
            for (const bytes& one : part.operations) // an operation begins with its kind
                ++by_kind_[std::to_integer<std::size_t>(one.front())];
        }
        shown_.show(wanted_ > 0 ? report.operations : report.blocks, wanted_, [&] {
            return fmt::format("block {}, {:.0f} operations/s", report.blocks,
                               static_cast<double>(report.operations) / seconds());
        });
    }

    generate_report finish() {
        report.seconds = seconds();
        if (wanted_ > 0) {
            const auto kinds = kinds_of(report.chain);
            for (std::size_t i = 0; i < kinds.size(); ++i)
                report.operations_by_kind.emplace_back(kinds[i], by_kind_[i]);
        }
        return std::move(report);
    }

    generate_report report;

private:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }
    progress shown_{"generating", "operations"};
    std::uint64_t wanted_;
    std::array<std::uint64_t, 256> by_kind_{};
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void finish(branch_generator& generator, generate_report& report) {
    generator.finish();
    report.branches = generator.branches();
    report.branch_blocks = generator.blocks();
    report.bad_branches = generator.bad_branches();
}

} // namespace

std::filesystem::path forks_path(std::filesystem::path block_log) {
    block_log += ".forks";
    return block_log;
}

generate_report generate_log(const chain_options& options, const fork_options& forks,
                             const std::filesystem::path& to, const catch_interruption&) {
    const auto source = make_block_source(options);
    unfinished_log log(to, options.chain, packing);
    std::optional<branch_generator> generator;
    if (forks.percent > 0) generator.emplace(forks_path(to), options.chain, forks, options.seed);
    tally all(options.operations);
    all.report.chain = options.chain;
    while (const auto next = source->next()) {
        log.append(*next);
        if (generator) generator->add(*next);
        all.add(*next);
        all.report.interrupted = catch_interruption::caught();
        if (all.report.interrupted) return all.finish();
    }
    // Branches first: whoever finds the log may rely on them.
    if (generator) finish(*generator, all.report);
    try {
        all.report.bytes = log.finish();
    } catch (...) { // branches without their log would obstruct a repeated call
        std::error_code ignored;
        if (generator) std::filesystem::remove(forks_path(to), ignored);
        throw;
    }
    return all.finish();
}

generate_report generate_forks_of(const std::filesystem::path& block_log, const fork_options& forks,
                                  std::uint64_t seed, const std::filesystem::path& to,
                                  const catch_interruption&) {
    const block_log_reader log(block_log);
    branch_generator generator(to, log.chain(), forks, seed);
    tally all(0);
    all.report.chain = log.chain();
    auto blocks = log.stream();
    while (const auto next = blocks.next()) {
        generator.add(*next);
        all.add(*next);
        all.report.interrupted = catch_interruption::caught();
        if (all.report.interrupted) return all.finish();
    }
    finish(generator, all.report);
    return all.finish();
}

std::string to_text(const generate_report& report) {
    if (report.interrupted)
        return "interrupted; nothing unfinished is left, the same call begins anew\n";
    std::string text = fmt::format("{}: {} blocks, {} transactions, {} operations\n", report.chain,
                                   report.blocks, report.transactions, report.operations);
    for (const auto& [kind, count] : report.operations_by_kind)
        text +=
            fmt::format("  {:<16} {:>12}  {:5.1f} %\n", kind, count,
                        100 * static_cast<double>(count) / static_cast<double>(report.operations));
    if (report.bytes > 0)
        text +=
            fmt::format("{}, {:.1f} bytes for each operation\n", bytes_in_words(report.bytes),
                        static_cast<double>(report.bytes) / static_cast<double>(report.operations));
    if (report.branches > 0)
        text += fmt::format("{} branches of {} blocks, {} of them bad\n", report.branches,
                            report.branch_blocks, report.bad_branches);
    return text + fmt::format("{}, {:.0f} operations/s\n", duration_in_words(report.seconds),
                              static_cast<double>(report.operations) / report.seconds);
}

} // namespace chainbase::generate
