#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/branch_generator.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace chainbase::generate {

namespace {

/// For each block, the number of transactions up to its end, counted from the first block.
std::vector<std::size_t> ends_of(std::span<const block> main) {
    std::vector<std::size_t> ends;
    std::size_t sum = 0;
    for (const block& one : main)
        ends.push_back(sum += one.transactions.size());
    return ends;
}

/// Where the branch's blocks end: between the block's own end and the next one's.
std::vector<std::size_t> redistributed_ends(const std::vector<std::size_t>& ends,
                                            std::size_t length, random_numbers& random) {
    std::vector<std::size_t> ends_in_branch;
    for (std::size_t i = 0; i < length; ++i) {
        const std::size_t next = ends[std::min(i + 1, ends.size() - 1)];
        const std::size_t least = i == 0 && next > ends[0] ? ends[0] + 1 : ends[i];
        ends_in_branch.push_back(random.between(least, next));
    }
    return ends_in_branch;
}

bytes rule_breaking_operation(std::string_view chain) {
    if (chain == social::chain_name || chain == social::generated_chain_name)
        return social::encode(social::vote{.voter = "nobody",
                                           .author = "nobody",
                                           .permlink = "nothing",
                                           .percent = social::full_percent + 1});
    if (chain == payments::chain_name)
        return payments::encode(payments::payment{"nobody", "nobody", 0});
    return {std::byte{0xff}}; // no operation of any chain
}

} // namespace

std::optional<branch> make_branch(std::uint64_t forks_after, std::span<const block> main,
                                  std::size_t length, random_numbers& random) {
    const std::vector<std::size_t> ends = ends_of(main.first(std::min(length + 1, main.size())));
    std::vector<std::size_t> ends_in_branch = redistributed_ends(ends, length, random);
    if (ends_in_branch.front() == ends.front()) return {};
    // A single block must differ from the original.
    const std::size_t before_last = length > 1 ? ends_in_branch[length - 2] : ends.front() + 1;
    if (random.chance(1, 4)) // some are still pending at the end
        ends_in_branch.back() -=
            random.below(std::min<std::size_t>(ends_in_branch.back() - before_last, 3) + 1);

    branch result{forks_after, {}};
    auto from = main.begin();
    std::size_t taken = 0; // of *from
    std::size_t position = 0;
    for (std::size_t i = 0; i < length; ++i) {
        block one{main[i].number, main[i].timestamp, {}};
        for (; position < ends_in_branch[i]; ++position, ++taken) {
            while (taken == from->transactions.size()) {
                ++from;
                taken = 0;
            }
            one.transactions.push_back(from->transactions[taken]);
        }
        result.blocks.push_back(std::move(one));
    }
    return result;
}

void append_invalid_transaction(branch& one, std::string_view chain) {
    one.blocks.back().transactions.push_back({{rule_breaking_operation(chain)}});
}

branch_generator::branch_generator(const std::filesystem::path& path, std::string chain,
                                   const fork_options& options, std::uint64_t seed)
    : chain_(std::move(chain)), options_(options),
      // A seed different from the chain's own.
      random_(~seed), name_(path, unfinished_name::leftover::is_removed),
      file_(name_.path(), chain_) {}

void branch_generator::add(const block& next) {
    window_.push_back(next);
    // The fork point, the blocks that a branch replaces, and one more as a source of early
    // transactions.
    if (window_.size() == options_.depth + std::size_t{2}) make_next_branch();
}

void branch_generator::make_next_branch() {
    const std::span<const block> main = std::span(window_).subspan(1);
    if (!main.empty() && random_.chance(options_.percent, 100)) {
        const std::uint64_t most = std::min<std::uint64_t>(options_.depth, main.size());
        const std::uint64_t length = random_.between(1, most);
        auto one = make_branch(window_.front().number, main, length, random_);
        if (one) {
            const bool is_bad = random_.chance(options_.bad_percent, 100);
            if (is_bad) append_invalid_transaction(*one, chain_);
            bad_ += is_bad ? 1 : 0;
            blocks_ += length;
            file_.append(*one);
        }
    }
    window_.erase(window_.begin());
}

void branch_generator::finish() {
    while (!window_.empty())
        make_next_branch();
    file_.close();
    name_.finish();
}

} // namespace chainbase::generate
