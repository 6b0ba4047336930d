#include <archive/archive_check.hpp>
#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive_report.hpp>
#include <tools/inspect/check.hpp>
#include <tools/print.hpp>

#include <memory>

namespace chainbase::inspect {

namespace {

struct call {
    std::string state;
    int detail = 0;
    bool checkpoint = false;
    bool json = false;
};

/// An archive that cannot be opened is a finding; that there is none is not.
void check_archive(check::state_check& state) {
    if (!std::filesystem::exists(state.state() / "archive")) return;
    check::part_report part;
    part.name = "archive";
    {
        const check::stopwatch timed(part);
        const auto refuse = [&](const error& why) { part.add({"archive", {}, why.what()}); };
        try {
            archive::check_rows(state, *open_archive(state.state()), part);
        } catch (const damaged_error& e) {
            refuse(e);
        } catch (const format_error& e) {
            refuse(e);
        }
    }
    state.report().parts.push_back(std::move(part));
}

std::uint64_t check_state(const call& asked) {
    check::state_check state(asked.state);
    check_archive(state);
    print_or_throw(asked.json ? as_json(state) : as_text(state, asked.detail));
    return state.report().found_in_all();
}

std::uint64_t check_checkpoint(const call& asked) {
    const auto found = check::check_checkpoints(disk::of_system(), asked.state);
    print_or_throw(asked.json ? as_json(asked.state, found)
                              : as_text(asked.state, found, asked.detail));
    return found.report.found_in_all();
}

exit_code run(const call& asked) {
    try {
        const std::uint64_t found = asked.checkpoint ? check_checkpoint(asked) : check_state(asked);
        return found == 0 ? exit_code::done : exit_code::damaged;
    } catch (const std::filesystem::filesystem_error& problem) {
        throw io_error(asked.state + ": " + problem.what());
    }
}

} // namespace

void add_check(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<call>();
    CLI::App* verb = program.add_subcommand("check", "Whether a state that nobody writes is sound");
    verb->add_option("DIR", asked->state, "The folder of the state")->required();
    verb->add_flag("-v", asked->detail,
                   "List what was checked; -vv: every structure of every type");
    verb->add_flag("--checkpoint", asked->checkpoint,
                   "Check the state's checkpoints in place of its segment, also beside a writer");
    verb->add_flag("--json", asked->json, "Print one JSON object instead of text");
    verb->callback([asked, &result] { result = run(*asked); });
}

std::string to_string(check::condition what) {
    switch (what) {
    case check::condition::closed:
        return "closed";
    case check::condition::writer_died:
        return "writer_died";
    case check::condition::machine_restarted:
        return "machine_restarted";
    }
    return "unknown";
}

std::string to_string(check::standing what) {
    switch (what) {
    case check::standing::whole:
        return "whole";
    case check::standing::damaged:
        return "damaged";
    case check::standing::replaced:
        return "replaced";
    }
    return "unknown";
}

} // namespace chainbase::inspect
