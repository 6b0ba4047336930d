#pragma once

#include <tools/block_log/block_log_writer.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/operations.hpp>
#include <tools/driver/chain_state.hpp>

#include <tests/support/temporary_folder.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::test {

/// A block whose operations are a transaction each.
template <typename... Operations>
block block_of(std::uint64_t number, std::int64_t time, const Operations&... operations) {
    block one{number, time, {}};
    (one.transactions.push_back({{encode(operations)}}), ...);
    return one;
}

inline social::operation account(const char* name) {
    return social::account_create{name};
}

inline social::comment post(const char* author, const char* permlink, std::int64_t cashout = 0,
                            std::int64_t author_payout = 0, std::int64_t curator_payout = 0) {
    social::comment one;
    one.author = author;
    one.permlink = permlink;
    one.parent_permlink = "category";
    one.cashout_time = cashout;
    one.author_payout = author_payout;
    one.curator_payout = curator_payout;
    return one;
}

inline social::comment reply(const char* author, const char* permlink, const char* parent_author,
                             const char* parent_permlink) {
    social::comment one = post(author, permlink);
    one.parent_author = parent_author;
    one.parent_permlink = parent_permlink;
    return one;
}

inline social::vote vote(const char* voter, const char* author, const char* permlink,
                         std::int64_t rshares, std::int16_t percent = 0) {
    return {voter, author, permlink, percent, rshares};
}

inline swap::swap exchange(const char* owner, std::uint32_t pair, swap::asset in, swap::asset out,
                           swap::asset reserve0, swap::asset reserve1) {
    return {owner, pair, in, out, {}, reserve0, reserve1};
}

inline bytes encode(const social::comment& op) {
    return social::encode(op);
}
inline bytes encode(const social::vote& op) {
    return social::encode(op);
}
inline bytes encode(const social::custom& op) {
    return social::encode(op);
}
inline bytes encode(const swap::swap& op) {
    return swap::encode(op);
}

inline void write_blocks(const std::filesystem::path& path, const std::string& chain,
                         const std::vector<block>& blocks) {
    auto writer = block_log_writer::create(path, chain);
    for (const block& one : blocks)
        writer.append(one);
    writer.close();
}

/// A state in a folder of its own.
struct small_chain {
    temporary_folder folder;
    driver::chain_state state;

    explicit small_chain(const char* chain, std::int64_t lag = 0)
        : state(folder / "state", chain, lag) {}

    [[nodiscard]] std::int64_t oracle(std::string_view name) const {
        for (const auto& [known, value] : state.model().oracle())
            if (known == name) return value;
        throw std::runtime_error("the oracle does not say " + std::string(name));
    }
    [[nodiscard]] std::int64_t archived() const { return state.model().archived().front().second; }
};

} // namespace chainbase::test
