#include <iostream>

#include "account_index.hpp"

int main(int argc, char** argv) {
    chainbase::open_options how;
    how.mode = chainbase::open_mode::read_only;
    chainbase::database db(argc > 1 ? argv[1] : "state", how);
    db.add_type<account>("account");

    const auto balance = db.with_read_lock([&] { // a whole block; references end with the lock
        const account* alice = db.find<account, by_name>("alice");
        return alice ? alice->balance : 0;
    });
    std::cout << "read: alice has " << balance << '\n';
}
