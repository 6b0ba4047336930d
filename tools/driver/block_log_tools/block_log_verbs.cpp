#include <pool_allocator/base/error.hpp>
#include <tools/driver/block_log_tools/log_making.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/block_log_tools/log_repair.hpp>
#include <tools/driver/block_log_tools/log_verification.hpp>
#include <tools/driver/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/report_json.hpp>

#include <spdlog/spdlog.h>

#include <memory>

/// The verbs of `chainbase-driver block-log`.
namespace chainbase::driver {

namespace {

/// --from and --stop-at, as in all verbs; --to is a verb's output.
void add_range(command& verb, block_range& range) {
    verb.add_option("--from", range.first, "number of the first block").whole_number(0, UINT64_MAX);
    verb.add_option("--stop-at", range.last, "number of the last block")
        .whole_number(0, UINT64_MAX);
}

/// Runs a verb and records signals. A second signal ends the process at once, since a search
/// through damage may take long; its output is then left named `.unfinished`.
template <typename Work>
exit_code run_tool(Work&& work) {
    const catch_interruption signals(catch_interruption::further_signals::end_the_process);
    return work();
}

void declare_log_info(command& verb) {
    struct call {
        std::filesystem::path log;
        bool count = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_flag("--count", options->count, "read all blocks and count what they hold");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("reading");
            const log_info info = info_of(options->log, options->count, shown);
            print_report(info, options->json);
            return exit_code::done;
        });
    });
}

void declare_log_print(command& verb) {
    struct call : print_options {};
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    add_range(verb, options->range);
    verb.add_option("--limit", options->limit, "blocks to print at most")
        .whole_number(0, UINT64_MAX);
    verb.add_flag("--operations", options->operations, "also print the operations of the blocks");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("printing");
            const std::uint64_t faults = print_log(*options, shown);
            if (faults == 0) return exit_code::done;
            spdlog::error("{}: {} operations do not decode; block-log verify --operations tells "
                          "which",
                          options->log.string(), faults);
            return exit_code::failed;
        });
    });
}

void declare_log_verify(command& verb) {
    struct call {
        std::filesystem::path log;
        bool operations = false;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_flag("--operations", options->operations, "decode each operation, too");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("verifying");
            const log_verification found = verify_log(options->log, options->operations, shown);
            print_report(found, options->json);
            return found.good() ? exit_code::done : exit_code::failed;
        });
    });
}

void declare_log_digest(command& verb) {
    struct call {
        std::filesystem::path log;
        block_range range;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    add_range(verb, options->range);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("reading");
            const log_digest digest = digest_of(options->log, options->range, shown);
            print_report(digest, options->json);
            return exit_code::done;
        });
    });
}

void declare_log_split(command& verb) {
    struct call : split_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_option("--to-folder", options->to_folder, "the folder to make")
        .value_name("FOLDER")
        .required();
    command_option& at =
        verb.add_option("--at", options->at,
                        "number of a block that begins a piece; several: 100,200 or "
                        "--at 100 --at 200")
            .delimiter(',')
            .one_value_each_time()
            .whole_number(0, UINT64_MAX);
    verb.add_option("--every", options->every, "blocks in a piece")
        .whole_number(1, UINT64_MAX)
        .excludes(at);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            if (options->at.empty() && !options->every)
                throw usage_error("block-log split: say where, with --at or --every");
            progress shown("copying");
            const made_logs made = split_log(*options, shown);
            print_report(made, options->json);
            return exit_code::done;
        });
    });
}

void declare_log_merge(command& verb) {
    struct call : merge_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->from, "the logs, in any order").required();
    verb.add_option("--to", options->to, "the log to make").value_name("FILE").required();
    verb.add_flag("--allow-gaps", options->allow_gaps,
                  "numbers may be missing between two logs: the chain has no such blocks");
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("copying");
            const made_logs made = merge_logs(*options, shown);
            print_report(made, options->json);
            return exit_code::done;
        });
    });
}

void declare_log_trim(command& verb) {
    struct call {
        std::filesystem::path log;
        std::filesystem::path to;
        block_range range;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_option("--to", options->to, "the log to make").value_name("FILE").required();
    add_range(verb, options->range);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("copying");
            const made_logs made = trim_log(options->log, options->to, options->range, shown);
            print_report(made, options->json);
            return exit_code::done;
        });
    });
}

void declare_log_repair_index(command& verb) {
    struct call {
        std::filesystem::path log;
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            progress shown("verifying");
            const index_repair report = repair_index(options->log, shown);
            print_report(report, options->json);
            return exit_code::done;
        });
    });
}

void declare_log_salvage(command& verb) {
    struct call : salvage_options {
        bool json = false;
    };
    const auto options = std::make_shared<call>();
    verb.add_option("LOG", options->log, "the block log").required();
    command_option& to =
        verb.add_option("--to", options->to, "a log of the blocks before the damage")
            .value_name("FILE");
    verb.add_option("--to-folder", options->to_folder, "a folder with a log of every good stretch")
        .value_name("FOLDER")
        .excludes(to);
    verb.add_flag("--json", options->json, "one JSON object on stdout");
    verb.runs([options] {
        return run_tool([&] {
            if (options->to.empty() && options->to_folder.empty())
                throw usage_error("block-log salvage: say where to, with --to or --to-folder");
            progress shown("salvaging");
            const salvage_report report = salvage_log(*options, shown);
            print_report(report, options->json);
            return exit_code::done;
        });
    });
}

constexpr verb_entry block_log_verbs[] = {
    {"info", "Summarise what a block log holds; changes nothing", declare_log_info,
     "block-log info social.blocks"},
    {"print", "Print the blocks of a range, a line of JSON for each", declare_log_print,
     "block-log print social.blocks --from 1000 --limit 10"},
    {"verify", "Check every byte of a block log: what is wrong, where, and what survives",
     declare_log_verify, "block-log verify social.blocks --operations"},
    {"digest", "Compute a digest of the blocks of a range, however they are packed",
     declare_log_digest, "block-log digest social.blocks"},
    {"split", "Split a log into several, in a new folder", declare_log_split,
     "block-log split social.blocks --every 1000 --to-folder pieces"},
    {"merge", "Merge several logs of one chain into one", declare_log_merge,
     "block-log merge pieces/a.blocks pieces/b.blocks --to whole.blocks"},
    {"trim", "Copy the blocks of a range into a new log", declare_log_trim,
     "block-log trim social.blocks --stop-at 1000 --to begin.blocks"},
    {"repair-index", "Build the index of a log again", declare_log_repair_index,
     "block-log repair-index social.blocks"},
    {"salvage", "Make new logs of the good blocks of a damaged one", declare_log_salvage,
     "block-log salvage social.blocks --to good.blocks"},
};

} // namespace

void declare_block_log(command& verb) {
    verb.add_verbs(block_log_verbs);
}

} // namespace chainbase::driver
