#include <tools/driver/generate/branch_dealer.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::generate {

branch_dealer::branch_dealer(const std::filesystem::path& path, std::string chain,
                             const fork_options& options, std::uint64_t seed)
    : chain_(std::move(chain)), options_(options),
      // Not the numbers that the chain itself was made of.
      random_(~seed), name_(path), file_(name_.temporary(), chain_) {}

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
    name_.give();
}

} // namespace chainbase::generate
