// A node in a page: blocks are sessions, pending transactions are a session on top of them, and a
// fork is undone block by block.
//
//     example_node FOLDER      makes FOLDER/state anew

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// What is stored: plain structs, all of their members described.

using account_name = chainbase::fixed_string<16>;

struct weighted_key {
    chainbase::shared_string key;
    std::uint16_t weight = 1;
};
BOOST_DESCRIBE_STRUCT(weighted_key, (), (key, weight))

struct authority {
    std::uint32_t threshold = 1;
    chainbase::shared_vector<weighted_key> keys;
    chainbase::shared_vector<chainbase::shared_string> accounts;
};
BOOST_DESCRIBE_STRUCT(authority, (), (threshold, keys, accounts))

struct by_name; // tags
struct by_balance;
struct by_creator;

struct account {
    chainbase::id<account> id; // first
    account_name name;
    account_name creator;
    std::int64_t balance = 0;
    authority owner;

    using keys = chainbase::keys<
        chainbase::hashed_unique<by_name, &account::name>,
        chainbase::ranked_unique<by_balance, chainbase::descending<&account::balance>,
                                 &account::id>,
        chainbase::ordered_non_unique<by_creator, &account::creator, &account::name>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, name, creator, balance, owner))

// What the chain is made of.

struct transfer {
    std::string from;
    std::string to; // made by `from` when it does not exist
    std::int64_t amount;
};
using block = std::vector<transfer>;

/// Applies blocks and transactions. There are no readers beside it, so it takes no lock.
class node {
public:
    explicit node(const std::string& state) : db_(state) {
        db_.add_type<account>("account");
        if (db_.count<account>() == 0) make_genesis();
    }

    /// Drops the pending transactions, applies the block, which survives a kill from then on, and
    /// applies the transactions again that are still valid. Throws when the block is invalid; then
    /// its changes are undone.
    void apply(const block& next) {
        pending_.reset(); // undone
        auto session = db_.start_session();
        for (const transfer& each : next)
            pay(each);
        session.push();
        const std::vector<transfer> again = std::exchange(waiting_, {});
        for (const transfer& each : again)
            add_pending(each);
    }
    /// Applies a transaction on top of the newest block. False, with nothing changed, when it is
    /// invalid there.
    bool add_pending(const transfer& one) {
        if (!pending_) pending_.emplace(db_.start_session());
        auto session = db_.start_session();
        try {
            pay(one);
        } catch (const std::exception&) {
            return false; // undone by the guard of the session
        }
        session.squash(); // into pending_
        waiting_.push_back(one);
        return true;
    }
    /// Undoes the newest block: it is not of the branch that won.
    void pop() {
        pending_.reset();
        db_.undo();
    }
    /// No block up to this one can be undone any more.
    void set_irreversible(chainbase::revision_number number) { db_.commit(number); }

    [[nodiscard]] std::int64_t balance(std::string_view name) const {
        const account* found = db_.find<account, by_name>(name);
        return found ? found->balance : 0;
    }
    [[nodiscard]] const chainbase::database& state() const { return db_; }

private:
    void make_genesis() {
        db_.create<account>([](account& made) {
            made.name = "genesis";
            made.balance = 1'000;
            made.owner.keys = {{"STM-first", 1}, {"STM-second", 1}};
            made.owner.threshold = 2;
        });
    }
    void pay(const transfer& one) {
        const account& from = db_.get<account, by_name>(one.from);
        if (from.balance < one.amount) throw std::invalid_argument(one.from + " has too little");
        const account& to = db_.get_or_create<account, by_name>(one.to, [&](account& made) {
            made.name = one.to;
            made.creator = one.from;
            made.owner.accounts.push_back(one.from); // may sign for it
        });
        db_.modify(from, [&](account& it) { it.balance -= one.amount; });
        db_.modify(to, [&](account& it) { it.balance += one.amount; });
    }

    chainbase::database db_;
    std::optional<chainbase::session> pending_; // must go before the database
    std::vector<transfer> waiting_;
};

/// Prints a claim; throws when it is not true.
void show(std::string_view claim, bool is_true) {
    if (!is_true) throw std::logic_error("not true: " + std::string(claim));
    std::cout << claim << '\n';
}

void run(const std::string& state) {
    {
        node chain(state);
        chain.apply({{"genesis", "alice", 500}, {"genesis", "bob", 300}}); // block 1
        show("block 1: alice has 500", chain.balance("alice") == 500);
        const account& alice = chain.state().get<account, by_name>("alice");
        show("         genesis may sign for alice", alice.owner.accounts.front() == "genesis");

        show("pending: alice pays carol 50", chain.add_pending({"alice", "carol", 50}));
        show("         bob cannot pay 900", !chain.add_pending({"bob", "carol", 900}));
        show("         carol has 50 for now", chain.balance("carol") == 50);

        chain.apply({{"alice", "bob", 470}}); // block 2
        show("block 2: alice pays bob 470, so the pending payment is dropped",
             !chain.state().contains<account, by_name>("carol"));
        chain.apply({{"bob", "dave", 700}}); // block 3
        show("block 3: dave has 700", chain.balance("dave") == 700);

        chain.set_irreversible(1);
        chain.pop();
        chain.pop();
        show("fork:    blocks 2 and 3 undone, alice has 500, there is no dave",
             chain.balance("alice") == 500 && !chain.state().contains<account, by_name>("dave"));
        try {
            chain.pop();
            show("block 1 was irreversible", false);
        } catch (const chainbase::usage_error&) {
            std::cout << "         block 1 cannot be undone\n";
        }
        chain.apply({{"alice", "erin", 100}}); // block 2 of the other branch
        chain.apply({{"bob", "erin", 150}});   // block 3
        show("         the other branch: erin has 250", chain.balance("erin") == 250);
    } // closed

    node chain(state);
    show("reopen:  at block 3, of which 1 is irreversible",
         chain.state().revision() == 3 && chain.state().committed_revision() == 1);
    const auto by_wealth = chain.state().view<account, by_balance>();
    show("         the richest is alice with 400",
         by_wealth.nth(0)->name == "alice" && by_wealth.nth(0)->balance == 400);
    show("         genesis made two accounts",
         chain.state().count<account, by_creator>("genesis") == 2);
    chain.pop();
    show("         block 3 can still be undone: erin has 100", chain.balance("erin") == 100);
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
