#include <iostream>

#include "account.hpp"

int main(int argc, char** argv) {
    chainbase::database db(argc > 1 ? argv[1] : "state"); // opens the state, or creates it
    db.add_type<account>("account");

    auto block = db.start_session(); // undone at the end of its scope unless pushed
    if (!db.find<account, by_name>("alice"))
        db.create<account>([](account& a) { a.name = "alice"; });
    const account& alice = db.get<account, by_name>("alice");
    db.modify(alice, [](account& a) { a.balance += 100; });
    block.push(); // survives a kill of the process, and can still be undone

    {
        auto pending = db.start_session();
        db.create<account>([](account& a) { a.name = "bob"; });
        db.modify(alice, [](account& a) { a.balance = 0; });
    } // undone: every byte is restored

    db.commit(block.revision()); // from here on it is permanent

    for (const account& each : db.view<account, by_balance>())
        std::cout << each.name.view() << " has " << each.balance << '\n';
    std::cout << "revision " << db.revision() << '\n';
}
