#pragma once

#include <tools/driver/generate/generate.hpp>
#include <tools/driver/generate/mix.hpp>

#include <tests/support/temporary_folder.hpp>

#include <filesystem>
#include <vector>

namespace chainbase::test {

inline generate::chain_options social_chain(std::uint64_t operations, std::uint64_t seed) {
    generate::chain_options options;
    options.operations = operations;
    options.seed = seed;
    return options;
}

inline generate::operation_mix deleting_mix() {
    return generate::parse_mix("comment=30,comment_delete=10,vote=20,custom=30,transfer=10");
}

/// Many comments are deleted when they were paid, and written again.
inline generate::chain_options deleting_chain(std::uint64_t operations, std::uint64_t seed) {
    generate::chain_options options = social_chain(operations, seed);
    options.mix = generate::parse_mix("comment=30,comment_delete=10,vote=20,custom=30,transfer=10");
    options.transactions_per_block = 1; // so that time passes, and they get paid
    options.paid_percent = 100;
    options.cash_out_percent = 1;
    return options;
}

inline generate::chain_options payments_chain(std::uint64_t operations, std::uint64_t seed) {
    generate::chain_options options = social_chain(operations, seed);
    options.chain = "payments";
    return options;
}

inline std::vector<block> all_blocks(const generate::chain_options& options) {
    const auto source = make_block_source(options);
    std::vector<block> blocks;
    while (auto next = source->next())
        blocks.push_back(std::move(*next));
    return blocks;
}

/// The log in a folder, and its branches.
struct generated_log {
    explicit generated_log(const generate::chain_options& options,
                           const generate::fork_options& forks = {}) {
        const catch_interruption signals;
        report = generate::generate_log(options, forks, path(), signals);
    }

    [[nodiscard]] std::filesystem::path path() const { return folder / "log"; }

    temporary_folder folder{memory_or_disk()};
    generate::generate_report report;
};

} // namespace chainbase::test
