// Makes states for the tests of programs:
//
//     sample_state make WHAT DIR
#include <chainbase/database.hpp>

#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

void make_accounts(const std::filesystem::path& state) {
    database db(state, quick_options());
    db.add_type<account>("account");
    for (std::uint32_t i = 0; i < 1000; ++i)
        db.create<account>([&](account& one) {
            one.number = i;
            one.name = std::string_view(std::to_string(i));
        });
    db.commit(db.revision());
}

const std::map<std::string, void (*)(const std::filesystem::path&)> states = {
    {"accounts", make_accounts}};

} // namespace

int main(int count, char** words) try {
    const std::string call = count == 4 ? words[1] : "";
    if (call != "make" || !states.contains(words[2])) {
        std::fputs("usage: sample_state make WHAT DIR; WHAT is one of\n", stderr);
        for (const auto& [name, make] : states)
            std::fprintf(stderr, "    %s\n", name.c_str());
        return 2;
    }
    states.at(words[2])(words[3]);
} catch (const std::exception& error) {
    std::fprintf(stderr, "sample_state: %s\n", error.what());
    return 1;
}
