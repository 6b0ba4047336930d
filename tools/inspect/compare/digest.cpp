#include <tools/inspect/compare/content_digest.hpp>
#include <tools/inspect/compare/digest.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/text_table.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

struct digest_call {
    std::string state;
    content_digest::question question;
    bool json = false;
};

/// Null for what is not known.
json known(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

std::string digest_json(const content_digest& found, const digest_call& asked) {
    json report{{"schema_version", 1},           {"state", asked.state},
                {"revision", found.revision},    {"rolled_back", found.is_rolled_back},
                {"moved", found.has_moved},      {"memory_only", asked.question.memory_only},
                {"digest", known(found.digest)}, {"types", json::array()}};
    for (const content_digest::type& one : found.types)
        report["types"].push_back({{"name", one.name},
                                   {"digest", known(one.digest)},
                                   {"why_not", known(one.why_not)},
                                   {"rows", one.rows},
                                   {"archived_rows", one.archived_rows},
                                   {"undescribed", one.undescribed}});
    return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string digest_text(const content_digest& found) {
    text_table table({"type", "rows", "archived", "digest"});
    table.is_text(3);
    for (const content_digest::type& one : found.types)
        table.add({one.name, grouped(one.rows), grouped(one.archived_rows),
                   one.digest.empty() ? "(" + one.why_not + ")" : one.digest});
    std::string text = table.text();
    for (const content_digest::type& one : found.types)
        if (!one.undescribed.empty() && !one.digest.empty())
            text += fmt::format("{}: of {} the bytes are taken as they are; they may differ where "
                                "the content does not\n",
                                one.name, fmt::join(one.undescribed, ", "));
    return text + fmt::format("\nrevision {}\ndigest   {}\n", found.revision, found.digest);
}

exit_code run_digest(const digest_call& asked) {
    const content_digest found = content_digest::of(asked.state, asked.question);
    if (found.is_rolled_back)
        spdlog::warn("{}: its writer died; this is what the next opening rolls back to, revision "
                     "{}",
                     asked.state, found.revision);
    if (asked.json)
        print_or_throw(digest_json(found, asked));
    else if (!found.has_moved)
        print_or_throw(digest_text(found));
    if (!found.has_moved) return exit_code::done;
    spdlog::error("{}: its writer changed it each time that it was read, and a digest of different "
                  "blocks is none; take that of its newest checkpoint ({}@checkpoint), or call "
                  "again when its "
                  "writer waits",
                  asked.state, asked.state);
    return exit_code::moved;
}

} // namespace

void add_digest(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<digest_call>();
    asked->question.threads = std::max(1U, std::thread::hardware_concurrency());
    CLI::App* verb = program.add_subcommand("digest", "What a state means, as one number");
    verb->add_option("DIR", asked->state, "The folder of the state")->required();
    verb->add_option("--type", asked->question.types, "Just these types");
    verb->add_option("--threads", asked->question.threads,
                     "Threads that read; else one for each processor")
        ->check(CLI::Range(1, 1024));
    verb->add_flag("--memory", asked->question.memory_only,
                   "Without objects that are in the archive only");
    verb->add_flag("--json", asked->json, "Print one JSON object");
    verb->callback(
        [asked, &result] { result = look_at(asked->state, [&] { return run_digest(*asked); }); });
}

} // namespace chainbase::inspect
