// The opening plan for each combination of facts, as a table. damaged_state.cpp and
// tests/programs/test_inspect_damage.py test that opening, `info` and `check` follow it.

#include <chainbase/segment/opening_plan.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <string>
#include <vector>

using namespace chainbase;

namespace {

using fact = std::function<void(opening_facts&)>;

/// A state in its own folder, with a checkpoint, closed properly on this boot.
opening_facts closed() {
    opening_facts found;
    found.state = "/state";
    found.segment = "/state/segment";
    found.has_lock = true;
    found.has_segment = true;
    found.has_checkpoint = true;
    found.header_bytes = segment_header::page_bytes;
    found.header_is = opening_facts::header_file::whole;
    found.header = segment_header{};
    found.header->format = segment_header::current_format;
    found.header->clean = 1;
    found.header->generation = 7;
    found.is_of_this_boot = true;
    return found;
}

void no_checkpoint(opening_facts& to) {
    to.has_checkpoint = false;
}
void open(opening_facts& to) {
    to.header->clean = 0;
    to.header->generation = 0;
}
/// The header while a state is open that was closed with a checkpoint.
void open_again(opening_facts& to) {
    to.header->clean = 0;
}
void restarted(opening_facts& to) {
    to.is_of_this_boot = false;
}
void copied(opening_facts& to) {
    to.is_a_copy = true;
}
void put_back(opening_facts& to) {
    to.is_put_back = true;
}
void synced(opening_facts& to) {
    to.header->synced = 1;
}
void without_checkpoint_of_it(opening_facts& to) {
    to.header->generation = 0;
}
void no_lock(opening_facts& to) {
    to.has_lock = false;
}
void no_header(opening_facts& to) {
    to.header_is = opening_facts::header_file::missing;
    to.header.reset();
}
void header_of_another_program(opening_facts& to) {
    to.header_is = opening_facts::header_file::foreign;
    to.header.reset();
}
void damaged_header(opening_facts& to) {
    to.header_is = opening_facts::header_file::damaged;
    to.header.reset();
}
void other_format(opening_facts& to) {
    to.header->format = segment_header::current_format + 1;
}
void neither(opening_facts& to) {
    to.header->clean = 9;
}
void no_segment(opening_facts& to) {
    no_header(to);
    to.has_segment = false;
}
void set_aside(opening_facts& to) {
    to.has_segment = false;
    to.former = "/state/segment.former";
}
void in_memory(opening_facts& to) {
    to.is_in_memory = true;
    to.segment = "/dev/shm/chainbase-1/segment";
}
void foreign(opening_facts& to) {
    in_memory(to);
    to.why_foreign = "/dev/shm/chainbase-1 holds the segment of another state";
}
void vacant(opening_facts& to) {
    no_segment(to);
    no_checkpoint(to);
    to.is_vacant = true;
}

struct row {
    std::vector<fact> facts;
    opening_way does;
    std::string code;
    segment_condition condition;
};

std::string thrown_by(const opening_plan& plan) {
    try {
        plan.refuse();
    } catch (const format_error&) {
        return "format";
    } catch (const damaged_error&) {
        return "damaged";
    } catch (const unclean_error&) {
        return "unclean";
    }
}

} // namespace

TEST_CASE("what opening does follows from what is there") {
    using way = opening_way;
    using is = segment_condition;
    const std::vector<row> rows{
        {{}, way::attach, "", is::closed},
        {{no_checkpoint}, way::attach, "", is::closed},
        {{open}, way::roll_back, "writer_died", is::writer_died},
        {{open, no_checkpoint}, way::roll_back, "writer_died", is::writer_died},
        {{open_again}, way::roll_back, "writer_died", is::writer_died},
        {{open_again, restarted}, way::restore, "machine_restarted", is::machine_restarted},
        {{synced, restarted}, way::attach, "", is::closed},
        {{synced, restarted, no_checkpoint}, way::attach, "", is::closed},
        {{restarted}, way::restore, "machine_restarted", is::machine_restarted},
        {{restarted, open}, way::restore, "machine_restarted", is::machine_restarted},
        {{synced, open, restarted}, way::restore, "machine_restarted", is::machine_restarted},
        {{restarted, no_checkpoint}, way::refuse, "machine_restarted", is::machine_restarted},
        {{restarted, open, no_checkpoint}, way::refuse, "machine_restarted", is::machine_restarted},
        {{copied}, way::attach, "", is::closed},
        {{copied, open}, way::restore, "copied_while_open", is::copied_while_open},
        {{copied, open, no_checkpoint}, way::refuse, "copied_while_open", is::copied_while_open},
        {{copied, open, restarted}, way::restore, "machine_restarted", is::machine_restarted},
        {{put_back}, way::attach, "", is::closed},
        {{put_back, open}, way::restore, "copied_while_open", is::copied_while_open},
        {{put_back, open, no_checkpoint}, way::refuse, "copied_while_open", is::copied_while_open},
        {{restarted, without_checkpoint_of_it},
         way::refuse,
         "not_on_storage",
         is::machine_restarted},
        {{no_segment}, way::restore, "segment_lost", is::segment_lost},
        {{no_segment, no_lock}, way::restore, "segment_lost", is::segment_lost},
        {{no_segment, in_memory}, way::restore, "segment_lost", is::segment_lost},
        {{no_segment, in_memory, no_checkpoint}, way::refuse, "segment_lost", is::segment_lost},
        {{no_segment, no_checkpoint}, way::refuse, "no_state", is::unknown},
        {{foreign}, way::restore, "segment_lost", is::segment_lost},
        {{foreign, no_checkpoint}, way::refuse, "segment_lost", is::segment_lost},
        {{set_aside}, way::attach, "", is::closed},
        {{set_aside, open}, way::roll_back, "writer_died", is::writer_died},
        {{vacant}, way::create, "", is::unknown},
        {{vacant, no_lock}, way::create, "", is::unknown},
        {{no_header}, way::refuse, "header_missing", is::unknown},
        {{no_header, no_lock}, way::refuse, "no_state", is::unknown},
        {{header_of_another_program}, way::refuse, "header_damaged", is::unknown},
        {{damaged_header}, way::refuse, "header_damaged", is::unknown},
        {{damaged_header, no_lock}, way::refuse, "header_damaged", is::unknown},
        {{other_format}, way::refuse, "other_format", is::unknown},
        {{other_format, restarted}, way::refuse, "other_format", is::unknown},
        {{neither}, way::refuse, "header_damaged", is::writer_died},
        {{no_lock}, way::refuse, "lock_missing", is::closed},
        {{no_lock, open}, way::refuse, "lock_missing", is::writer_died},
        {{no_lock, restarted}, way::refuse, "lock_missing", is::machine_restarted},
    };
    for (std::size_t n = 0; n < rows.size(); ++n) {
        opening_facts found = closed();
        for (const fact& apply : rows[n].facts)
            apply(found);
        const opening_plan plan = opening_plan::of(found);
        INFO("row " << n << ": " << plan.why);
        CHECK(to_string(plan.does) == to_string(rows[n].does));
        CHECK(plan.code == rows[n].code);
        CHECK(to_string(plan.condition) == to_string(rows[n].condition));
        CHECK_FALSE(plan.why.empty());
        CHECK((plan.does == way::refuse) == !plan.message.empty());
    }
}

TEST_CASE("what opening refuses says which file, and what to do") {
    struct refusal {
        fact apply;
        std::string kind;
        std::string file;
        std::string then;
    };
    const std::vector<refusal> all{
        {no_header, "damaged", "/state/segment/header", "away and open the state again"},
        {damaged_header, "damaged", "/state/segment/header", "away and open the state again"},
        {header_of_another_program, "format", "/state/segment/header", "check the path"},
        {other_format, "format", "/state/segment/header", "the program that wrote it"},
        {neither, "damaged", "/state/segment/header", "replay"},
        {no_lock, "damaged", "/state/lock", "install -m 600"},
        {[](opening_facts& to) { no_segment(to), no_checkpoint(to); }, "format", "/state",
         "another folder"},
        {[](opening_facts& to) { foreign(to), no_checkpoint(to); }, "unclean", "/state",
         "segment.json"},
        {[](opening_facts& to) { restarted(to), no_checkpoint(to); }, "unclean", "/state",
         "replay the block log"},
        {[](opening_facts& to) { copied(to), open(to), no_checkpoint(to); }, "unclean", "/state",
         "repair --from copy --yes '/state'"},
        {[](opening_facts& to) { restarted(to), without_checkpoint_of_it(to); }, "unclean",
         "/state", "away and open the state again"},
    };
    for (const refusal& one : all) {
        opening_facts found = closed();
        one.apply(found);
        const opening_plan plan = opening_plan::of(found);
        INFO(plan.message);
        CHECK(thrown_by(plan) == one.kind);
        CHECK(plan.message.starts_with(one.file));
        CHECK(plan.message.find(one.then) != std::string::npos);
    }
}
