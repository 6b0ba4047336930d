#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/row_printer.hpp>
#include <tools/inspect/rows/row_scan.hpp>
#include <tools/inspect/verbs.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace chainbase::inspect {

namespace {

struct sample_call {
    std::string state;
    std::string type;
    std::uint64_t rows = 10;
    std::uint64_t seed = 1;
    bool json = false;
};

/// Ids of objects by trying them, in a turn; fewer than wanted when most ids are not in use any
/// more, or there are not as many.
std::set<std::uint32_t> try_ids(const rows::slot_reader& slots, const sample_call& asked,
                                std::mt19937_64& random) {
    constexpr std::uint64_t tries_each = 16;
    std::set<std::uint32_t> found;
    if (slots.next_id() == 0) return found;
    std::uniform_int_distribution<std::uint32_t> any(0, slots.next_id() - 1);
    for (std::uint64_t tries = 0; tries < tries_each * asked.rows; ++tries) {
        if (found.size() == asked.rows) break;
        const std::uint32_t id = any(random);
        if (slots.slot_of(id) != 0) found.insert(id);
    }
    return found;
}

/// Vitter's reservoir ("Random Sampling with a Reservoir", 1985, algorithm R): one pass over all.
std::set<std::uint32_t> choose_of_all(row_source& from, const sample_call& asked,
                                      std::mt19937_64& random) {
    std::vector<std::uint32_t> chosen;
    std::uint64_t seen = 0;
    rows::id_cursor all;
    scan(from, asked.type, all, [&](const rows::type_rows& of, slot_number slot) {
        const std::uint32_t id = of.slots().id(slot);
        const std::uint64_t place = random() % ++seen;
        if (chosen.size() < asked.rows)
            chosen.push_back(id);
        else if (place < asked.rows)
            chosen[place] = id;
        return true;
    });
    return {chosen.begin(), chosen.end()};
}

std::set<std::uint32_t> choose(row_source& from, const sample_call& asked) {
    std::mt19937_64 random(asked.seed);
    std::set<std::uint32_t> found;
    from.take_turn([&] { found = try_ids(from.of(asked.type).slots(), asked, random); });
    return found.size() == asked.rows ? found : choose_of_all(from, asked, random);
}

exit_code run_sample(const sample_call& asked) {
    row_source from(asked.state);
    const std::set<std::uint32_t> chosen = choose(from, asked);
    row_printer printer(from, asked.type, "id",
                        asked.json ? row_printer::form::json_lines : row_printer::form::table);
    for (const std::uint32_t id : chosen) {
        rows::id_cursor one(id, id); // may be gone meanwhile
        scan(
            from, asked.type, one,
            [&](const rows::type_rows& of, slot_number slot) {
                printer.add(of.slots().value(slot), of.buffers());
                return true;
            },
            [&] { printer.print_some(); });
    }
    printer.finish(false);
    return exit_code::done;
}

} // namespace

void declare_sample(command& verb) {
    const auto asked = std::make_shared<sample_call>();
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("TYPE", asked->type, "The name of a type (`schema` lists them)").required();
    verb.add_option("--rows", asked->rows, "How many at most")
        .shows_default()
        .whole_number(1, 1'000'000);
    verb.add_option("--seed", asked->seed, "Another one chooses others").shows_default();
    verb.add_flag("--json", asked->json, "Print JSON lines");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_sample(*asked); }); });
}

} // namespace chainbase::inspect
