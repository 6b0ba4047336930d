#include <chainbase/database.hpp>

#include <iostream>

struct by_name;
struct by_balance;

struct account { // a plain struct: `id` first, no pointers, every member described
    chainbase::id<account> id;
    chainbase::fixed_string<16> name;
    std::int64_t balance = 0;

    using keys =
        chainbase::keys<chainbase::hashed_unique<by_name, &account::name>,
                        chainbase::ordered_unique<
                            by_balance, chainbase::descending<&account::balance>, &account::id>>;
};
BOOST_DESCRIBE_STRUCT(account, (), (id, name, balance))

int main(int argc, char** argv) {
    chainbase::database db(argc > 1 ? argv[1] : "state"); // opens the state, or creates it
    db.add_type<account>("account");

    auto block = db.start_session(); // undone at the end of its scope unless it is pushed
    if (!db.find<account, by_name>("alice"))
        db.create<account>([](account& a) { a.name = "alice"; });
    const account& alice = db.get<account, by_name>("alice");
    db.modify(alice, [](account& a) { a.balance += 100; });
    block.push(); // survives a kill of the process, and can still be undone

    {
        auto pending = db.start_session();
        db.create<account>([](account& a) { a.name = "bob"; });
        db.modify(alice, [](account& a) { a.balance = 0; });
    } // undone: every byte is what it was

    db.commit(block.revision()); // from here on it is permanent

    for (const account& each : db.view<account, by_balance>())
        std::cout << each.name.view() << " has " << each.balance << '\n';
    std::cout << "revision " << db.revision() << '\n';
}
