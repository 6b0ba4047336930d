// A state root: 32 bytes that commit to all objects. A node proves an object to a client that knows
// the root and nothing else; what was forged is refused.
//
//     example_proof FOLDER      makes FOLDER/state anew

#include <archive/committed_state.hpp>
#include <chainbase/state_root/state_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace archive = chainbase::archive;
namespace state_root = chainbase::state_root;

struct by_name;

struct account {
    chainbase::id<account> id;
    chainbase::fixed_string<16> name;
    std::int64_t balance = 0;

    using keys = chainbase::keys<chainbase::hashed_unique<by_name, &account::name>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, name, balance))

/// What a node sends: an object's canonical bytes (none: there is no such object), and the proof.
struct answer {
    std::uint32_t id;
    std::optional<archive::byte_buffer> record;
    std::vector<std::byte> proof;
};

class node {
public:
    explicit node(const std::string& state) : db_(state), root_(db_, 0) {
        db_.add_type<account>("account");
        root_.add<account>("account"); // the types that count
        root_.catch_up();
    }
    template <typename Work>
    void block(Work work) {
        auto session = db_.start_session();
        work(db_);
        root_.update(session.revision()); // hashes what the block changed, as a part of it
        session.push();
    }
    void pop() { db_.undo(); }
    [[nodiscard]] chainbase::sha256_digest root() const { return root_.root(); }
    [[nodiscard]] const chainbase::database& state() const { return db_; }

    [[nodiscard]] answer prove(std::uint32_t id) {
        const state_root::state_tree& tree = root_.tree();
        return {id, record_of(id), tree.prove(tree.number_of("account").value(), id)};
    }

private:
    [[nodiscard]] std::optional<archive::byte_buffer> record_of(std::uint32_t id) const {
        const account* object = db_.find(chainbase::id<account>(id));
        if (!object) return std::nullopt;
        archive::byte_buffer record;
        archive::append_described(archive::found<account>(*object), record);
        return record;
    }

    chainbase::database db_;
    archive::committed_state root_;
};

/// Knows a root, as block headers carry it; has no state.
class client {
public:
    explicit client(const chainbase::sha256_digest& root) : root_(root) {}

    /// The account, if the answer proves that the state has it.
    [[nodiscard]] std::optional<account> account_of(const answer& from) const {
        if (!from.record) return std::nullopt;
        const auto leaf = chainbase::sha256().of(*from.record);
        if (verify(from, leaf) != state_root::proof_result::included) return std::nullopt;
        account proven;
        archive::decode(*from.record, proven);
        return proven;
    }
    /// Whether the answer proves that there is no such account.
    [[nodiscard]] bool is_absent(const answer& from) const {
        return verify(from, std::nullopt) == state_root::proof_result::excluded;
    }

private:
    [[nodiscard]] state_root::proof_result
    verify(const answer& from, const std::optional<chainbase::sha256_digest>& leaf) const {
        return state_root::state_tree::verify(root_, "account", from.id, leaf, from.proof);
    }

    chainbase::sha256_digest root_;
};

/// Prints a claim; throws when it is not true.
void show(std::string_view claim, bool is_true) {
    if (!is_true) throw std::logic_error("not true: " + std::string(claim));
    std::cout << claim << '\n';
}

void run(const std::string& state) {
    constexpr std::uint32_t bob = 7;
    node full(state);
    full.block([](chainbase::database& db) {
        for (int i = 0; i < 10'000; ++i)
            db.create<account>([&](account& made) {
                made.name = "account-" + std::to_string(i);
                made.balance = 100 + i;
            });
    });
    const client light(full.root());
    std::cout << "root:    " << chainbase::hex(full.root()) << '\n';

    const answer honest = full.prove(bob);
    std::cout << "proof:   " << honest.proof.size() << " bytes for one of 10000 accounts\n";
    const auto proven = light.account_of(honest);
    show("         the client knows that account 7 has 107", proven && proven->balance == 107);

    answer forged = honest;
    account rich = *proven;
    rich.balance = 1'000'000;
    forged.record->clear();
    archive::encode(rich, *forged.record);
    show("forged:  another balance is refused", !light.account_of(forged));
    forged = honest;
    forged.proof.back() ^= std::byte{1};
    show("         one bit of the proof is refused", !light.account_of(forged));
    forged = honest;
    forged.id = bob + 1;
    show("         the proof of another account is refused", !light.account_of(forged));

    const answer missing = full.prove(10'000);
    show("absent:  there is no account 10000", light.is_absent(missing));
    show("         which cannot be claimed of account 7", !light.is_absent(honest));

    full.block([](chainbase::database& db) {
        db.modify(chainbase::id<account>(bob), [](account& it) { it.balance = 0; });
    });
    const client later(full.root());
    show("block:   after a change the old proof does not fit the new root",
         !later.account_of(honest) && later.account_of(full.prove(bob))->balance == 0);
    full.pop();
    show("pop:     the root is the old one again", light.account_of(full.prove(bob)).has_value());
}

} // namespace

int main(int argc, char** argv) try {
    const auto state = std::filesystem::path(argc > 1 ? argv[1] : ".") / "state";
    std::filesystem::remove_all(state);
    run(state);
} catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
}
