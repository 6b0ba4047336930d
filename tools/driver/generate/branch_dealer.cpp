#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/branch_dealer.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace chainbase::generate {

namespace {

/// For each block, the transactions up to its end, those of the blocks before it included.
std::vector<std::size_t> ends_of(std::span<const block> main) {
    std::vector<std::size_t> ends;
    std::size_t sum = 0;
    for (const block& one : main)
        ends.push_back(sum += one.transactions.size());
    return ends;
}

/// Where the branch's blocks end: between the ends of its own and of the next one.
std::vector<std::size_t> deal(const std::vector<std::size_t>& ends, std::size_t length,
                              random_numbers& random) {
    std::vector<std::size_t> dealt;
    for (std::size_t i = 0; i < length; ++i) {
        const std::size_t next = ends[std::min(i + 1, ends.size() - 1)];
        const std::size_t least = i == 0 && next > ends[0] ? ends[0] + 1 : ends[i];
        dealt.push_back(random.between(least, next));
    }
    return dealt;
}

bytes rule_breaking_operation(std::string_view chain) {
    if (chain == social::chain_name || chain == social::generated_chain_name)
        return social::encode(social::vote{.voter = "nobody",
                                           .author = "nobody",
                                           .permlink = "nothing",
                                           .percent = social::full_percent + 1});
    if (chain == payments::chain_name)
        return payments::encode(payments::payment{"nobody", "nobody", 0});
    return {std::byte{0xff}}; // is no operation of any chain
}

} // namespace

std::optional<branch> make_branch(std::uint64_t forks_after, std::span<const block> main,
                                  std::size_t length, random_numbers& random) {
    const std::vector<std::size_t> ends = ends_of(main.first(std::min(length + 1, main.size())));
    std::vector<std::size_t> dealt = deal(ends, length, random);
    if (dealt.front() == ends.front()) return {};
    // An only block is not to become as it was.
    const std::size_t before_last = length > 1 ? dealt[length - 2] : ends.front() + 1;
    if (random.chance(1, 4)) // some are still pending at the end
        dealt.back() -= random.below(std::min<std::size_t>(dealt.back() - before_last, 3) + 1);

    branch result{forks_after, {}};
    auto from = main.begin();
    std::size_t taken = 0; // of *from
    std::size_t position = 0;
    for (std::size_t i = 0; i < length; ++i) {
        block one{main[i].number, main[i].timestamp, {}};
        for (; position < dealt[i]; ++position, ++taken) {
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

void spoil(branch& one, std::string_view chain) {
    one.blocks.back().transactions.push_back({{rule_breaking_operation(chain)}});
}

branch_dealer::branch_dealer(const std::filesystem::path& path, std::string chain,
                             const fork_options& options, std::uint64_t seed)
    : chain_(std::move(chain)), options_(options),
      // Not the numbers that the chain itself was made of.
      random_(~seed), name_(path, unfinished_name::leftover::is_removed),
      file_(name_.path(), chain_) {}

void branch_dealer::add(const block& next) {
    window_.push_back(next);
    // The block to fork off, those that a branch replaces, and one more to take some of.
    if (window_.size() == options_.depth + std::size_t{2}) deal();
}

void branch_dealer::deal() {
    const std::span<const block> main = std::span(window_).subspan(1);
    if (!main.empty() && random_.chance(options_.percent, 100)) {
        const std::uint64_t most = std::min<std::uint64_t>(options_.depth, main.size());
        const std::uint64_t length = random_.between(1, most);
        auto one = make_branch(window_.front().number, main, length, random_);
        if (one) {
            const bool is_bad = random_.chance(options_.bad_percent, 100);
            if (is_bad) spoil(*one, chain_);
            bad_ += is_bad ? 1 : 0;
            blocks_ += length;
            file_.append(*one);
        }
    }
    window_.erase(window_.begin());
}

void branch_dealer::finish() {
    while (!window_.empty())
        deal();
    file_.close();
    name_.finish();
}

} // namespace chainbase::generate
