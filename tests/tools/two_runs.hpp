#pragma once

#include <chainbase/database.hpp>
#include <tools/chains/social/objects.hpp>
#include <tools/driver/bookkeeping.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/tools/driver_process.hpp>
#include <tests/tools/small_chain.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::test {

inline constexpr std::uint64_t last_block = 60;

/// Ten accounts.
inline block first_block() {
    block first{1, 1000, {}};
    for (int i = 0; i < 10; ++i)
        first.transactions.push_back({{encode(account(("account" + std::to_string(i)).c_str()))}});
    return first;
}

/// Block n deposits n to account n % 10, or so much more.
inline block deposit(std::uint64_t number, std::int64_t more = 0) {
    social::deposit one;
    one.to = ("account" + std::to_string(number % 10)).c_str();
    one.amount = static_cast<std::int64_t>(number) + more;
    return block_of(number, 1000 + static_cast<std::int64_t>(number), social::operation(one));
}

/// The first blocks, of which block `other` deposits so much more.
inline std::vector<block> deposits(std::uint64_t other = 0, std::int64_t more = 0) {
    std::vector<block> blocks{first_block()};
    for (std::uint64_t number = 2; number <= last_block; ++number)
        blocks.push_back(deposit(number, number == other ? more : 0));
    return blocks;
}

/// Two logs, and the states of their replays.
class two_runs {
public:
    two_runs(const std::vector<block>& a, const std::vector<block>& b) {
        write_blocks(folder_ / "a.log", "social", a);
        write_blocks(folder_ / "b.log", "social", b);
    }
    void replay(const std::string& name, const std::vector<std::string>& more = {}) {
        std::vector<std::string> call{"replay",  "--block-log",  folder_ / (name + ".log"),
                                      "--state", folder_ / name, "--state-root",
                                      "all"};
        call.insert(call.end(), more.begin(), more.end());
        const driver_run run = run_driver(call);
        INFO(run.err);
        REQUIRE(run.code() == 0);
    }
    /// What bisect says of a and b, when it ends like this.
    [[nodiscard]] nlohmann::json bisect(int code, const std::vector<std::string>& more = {}) {
        std::vector<std::string> call{"bisect", folder_ / "a", folder_ / "b", "--json"};
        call.insert(call.end(), more.begin(), more.end());
        const driver_run run = run_driver(call);
        INFO(run.out << run.err);
        REQUIRE(run.code() == code);
        return run.json();
    }
    [[nodiscard]] std::string text(const std::vector<std::string>& more = {}) {
        std::vector<std::string> call{"bisect", folder_ / "a", folder_ / "b"};
        call.insert(call.end(), more.begin(), more.end());
        return run_driver(call).out;
    }
    /// One bit of an account of b flips where it lies, as no program does it.
    void flip_a_bit(std::uint32_t account = 5) {
        change<social::account_object>("b", "account", [&](database& state) {
            const auto& one = state.get(id<social::account_object>(account));
            const_cast<std::int64_t&>(one.created) ^= 1 << 20;
        });
    }
    /// One bit of the root that a state has kept of a block flips.
    void flip_a_root(const std::string& name, std::uint64_t number) {
        change<driver::block_root>(name, driver::block_root::type_name, [&](database& state) {
            const auto* one = state.find<driver::block_root, driver::by_number>(number);
            REQUIRE(one != nullptr);
            const_cast<std::byte&>(one->root[3]) ^= std::byte{16};
        });
    }
    [[nodiscard]] std::filesystem::path folder(const std::string& name) { return folder_ / name; }

private:
    template <typename Object, typename Change>
    void change(const std::string& name, const char* type, Change how) {
        database state(folder_ / name, {});
        state.add_type<Object>(type);
        how(state);
        state.close();
    }

    temporary_folder folder_;
};

} // namespace chainbase::test
