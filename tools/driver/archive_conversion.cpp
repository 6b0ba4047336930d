#include <chainbase/database.hpp>
#include <chainbase/offline/conversion.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace chainbase::driver {

namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

struct conversion_report {
    fs::path state;
    std::string chain;
    std::uint64_t block = 0;  ///< the head
    std::uint64_t popped = 0; ///< blocks popped first
    archive::conversion done;
    double seconds = 0;
};

json report_value(const conversion_report& report) {
    return {{"state", report.state.string()},
            {"chain", report.chain},
            {"block", report.block},
            {"popped", report.popped},
            {"from", archive::to_string(report.done.from)},
            {"to", archive::to_string(report.done.to)},
            {"rows", report.done.rows},
            {"seconds", report.seconds}};
}

/// Rows in memory are objects of the state: popping blocks would undo them.
void require_irreversible(chain_state& state, bool pop, conversion_report& report) {
    while (pop && state.state().revision() > state.state().committed_revision()) {
        state.pop();
        ++report.popped;
    }
    const auto undoable = state.state().revision() - state.state().committed_revision();
    if (undoable == 0) return;
    throw usage_error(fmt::format(
        "{}: the last {} blocks can still be undone, and the conversion would be undone with "
        "them; --pop takes them back first (`sync` and `live` get them from peers again)",
        report.state.string(), undoable));
}

/// Opens the state the way its next user does: recovers from a dead writer, and checks that the
/// life cycles find their rows.
template <typename Work>
void open_whole(const conversion_report& report, Work&& work) {
    chain_state state(report.state, report.chain, 0);
    work(state);
    state.close();
}

/// Converts the archive of the state in `folder`, which no other process has open, to the kind
/// `to`, and opens the state with it once. Pops blocks that can be undone if `pop`, else refuses.
/// The same call continues after a signal.
conversion_report convert_archive(const fs::path& folder, archive::store_kind to, bool pop) {
    const auto begin = clock::now();
    conversion_report report;
    report.state = folder;
    report.chain = chain_state::require_chain(folder);
    open_whole(report, [&](chain_state& state) { require_irreversible(state, pop, report); });
    {
        open_options how;
        how.advise = false; // already logged
        database state(folder, how);
        archive::conversion_options options;
        progress shown("converting", "rows");
        options.tell = [&](std::uint64_t done, std::uint64_t all) {
            if (catch_interruption::caught())
                throw interrupted_error(fmt::format("interrupted while converting, at {} of {} "
                                                    "rows; the same call goes on",
                                                    done, all));
            shown.show(done, all);
        };
        report.done = archive::convert_archive(state, folder / "archive", to, options);
        state.close();
    }
    open_whole(report, [&](const chain_state& state) { report.block = state.head(); });
    report.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    return report;
}

std::string to_text(const conversion_report& report) {
    const bool is_new = report.done.from != report.done.to;
    std::string text =
        fmt::format("{}, {} at block {}: its archive is `{}`, {}\n", report.state.string(),
                    report.chain, report.block, archive::to_string(report.done.to),
                    is_new ? fmt::format("and was `{}`", archive::to_string(report.done.from))
                           : "as before; no store of another kind is left");
    for (const auto& [table, rows] : report.done.rows)
        text += fmt::format("  {:<24}{} rows\n", table, rows);
    return text + fmt::format("  {:<24}{}\n", "took", duration_in_words(report.seconds));
}

} // namespace

void declare_convert_archive(command& verb) {
    struct call {
        std::filesystem::path state;
        std::string to;
        bool pop = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("--state", options->state, "folder of the state, which no process has open")
        .value_name("FOLDER")
        .required();
    verb.add_option("--to", options->to, "kind of archive to convert to")
        .required()
        .one_of({"rocksdb", "memory", "none"});
    verb.add_flag("--pop", options->pop, "first take back the blocks that can still be undone");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        const catch_interruption signals;
        const conversion_report report =
            convert_archive(options->state, archive::store_kind_of(options->to), options->pop);
        print_report(report, options->json);
        return exit_code::done;
    });
}

} // namespace chainbase::driver
