#include <chainbase/state_root/sha256.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/root/root_record.hpp>
#include <tools/inspect/root/root_report.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace {

/// One attempt to read everything.
root_report attempt(row_source& from, const root_report::question& asked) {
    root_record record;
    root_report found;
    unchanging_state still(from, [&] {
        record = root_record::of(from);
        found.revision = from.revision();
    });
    found.is_rolled_back = from.is_rolled_back();
    found.root = hex(record.recorded.root);
    found.root_revision = record.recorded.revision;
    found.objects = record.recorded.objects;
    for (const state_root::committed_type& one : record.types)
        found.types.push_back({std::string(one.name.view()), one.objects, hex(one.root)});
    for (const root_record::contradiction& one : record.contradictions())
        found.contradictions.push_back(fmt::format("{} {}: {}", one.type, one.id, one.text));
    if (asked.verify)
        found.verified =
            verify_root(still, record, open_archive(from).get(), asked.threads, asked.limit);
    return found;
}

} // namespace

root_report root_report::of(const std::filesystem::path& state, const question& asked) {
    row_source from(state);
    if (asked.verify) from.read_all(/*and_keys=*/false);
    if (auto found = attempt_while_unchanged([&] { return attempt(from, asked); }))
        return *std::move(found);
    root_report found;
    question without_objects = asked;
    without_objects.verify = false;
    if (auto head = attempt_while_unchanged([&] { return attempt(from, without_objects); }))
        found = *std::move(head);
    else
        found.revision = from.current_revision();
    found.has_moved = true;
    return found;
}

// The JSON members of each part of the report, in order.
BOOST_DESCRIBE_STRUCT(root_report::type, (), (name, objects, root))

namespace {

std::string named_of(const root_faults& faults) {
    std::string text;
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        for (const root_fault& one : faults.named(static_cast<root_fault::kind>(number))) {
            if (!text.empty()) text += ',';
            text += line_with({{"kind", root_fault::names[number]},
                               {"type", one.type},
                               {"id", json_of(one.id)},
                               {"what", one.text},
                               {"archived", one.is_archived}},
                              {{"row", one.row.empty() ? "null" : one.row}});
        }
    return "[" + text + "]";
}

std::string verified_json(const root_report& found) {
    const root_verification& all = *found.verified;
    json head{{"sound", found.is_sound()},
              {"objects", all.objects},
              {"archived_objects", all.archived_objects},
              {"faults", all.faults.total()}};
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        head["faults_by_kind"][std::string(root_fault::names[number])] =
            all.faults.count(static_cast<root_fault::kind>(number));
    return line_with(head, {{"named", named_of(all.faults)}});
}

std::string as_json(const root_report& found, const std::string& state) {
    const bool is_known = !found.root.empty();
    const auto known = [&](const json& value) { return is_known ? value : json(nullptr); };
    return line_with({{"schema_version", 2},
                      {"state", state},
                      {"revision", found.revision},
                      {"rolled_back", found.is_rolled_back},
                      {"moved", found.has_moved},
                      {"root", known(found.root)},
                      {"root_revision", known(found.root_revision)},
                      {"current", known(found.is_current())},
                      {"objects", known(found.objects)},
                      {"types", json_of(found.types)},
                      {"contradictions", json_of(found.contradictions)}},
                     {{"verified", found.verified ? verified_json(found) : "null"}}) +
           "\n";
}

std::string head_of(const root_report& found, const std::string& state) {
    std::string text = fmt::format("state     {}\nrevision  {}\n", state, found.revision);
    if (found.root.empty()) return text;
    text += fmt::format("root      {}\n", found.root);
    if (found.is_current())
        text += "current   yes\n";
    else if (found.has_moved) // its writer is applying a block
        text += fmt::format("current   no: it is the root of revision {}\n", found.root_revision);
    else if (found.root_revision < 0)
        text += "current   no: it was never made; open the state with the program that keeps the "
                "root, which makes it\n";
    else
        text += fmt::format("current   no: it is the root of revision {}; open the state with "
                            "the program that keeps the root, which makes it anew\n",
                            found.root_revision);
    return text;
}

std::string types_text(const root_report& found) {
    text_table table({"type", "objects"});
    for (const root_report::type& one : found.types)
        table.add({one.name, grouped(one.objects)});
    table.rule();
    table.add({"all", grouped(found.objects)});
    return table.text();
}

/// Whether two faults have the same text and nothing else to tell.
bool have_same_text(const root_fault& one, const root_fault& other) {
    return one.row.empty() && other.row.empty() && one.type == other.type &&
           one.text == other.text && one.is_archived == other.is_archived;
}

/// Lists faults with the same text in one line.
std::string faults_text(const std::vector<root_fault>& faults) {
    std::string text;
    for (auto one = faults.begin(); one != faults.end();) {
        const auto end = std::find_if_not(one + 1, faults.end(), [&](const root_fault& other) {
            return have_same_text(*one, other);
        });
        text += one->type;
        for (auto same = one; same != end; ++same)
            if (same->id) text += fmt::format("{}{}", same == one ? " " : ", ", *same->id);
        text += fmt::format(": {}{}\n", one->text, one->is_archived ? " (in the archive)" : "");
        if (!one->row.empty()) text += "    " + one->row + "\n";
        one = end;
    }
    return text;
}

std::string verdict_of(const root_report& found) {
    const root_faults& faults = found.verified->faults;
    if (found.is_sound())
        return "sound     every object is what the root commits to, and there is no other\n";
    if (faults.total() == 0)
        return "stale     nothing is wrong, but the root is not that of this revision\n";
    std::vector<std::string> counts;
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        if (const auto count = faults.count(static_cast<root_fault::kind>(number)); count != 0)
            counts.push_back(fmt::format("{} {}", grouped(count), root_fault::names[number]));
    std::string text = fmt::format("damaged   {}\n", fmt::join(counts, ", "));
    // What is unreadable says what to do, and a root that is not current was said to be so.
    if (found.is_current() && faults.total() != faults.count(root_fault::kind::unreadable))
        text += "          what to do: go back to a checkpoint or a backup; or, to accept the "
                "objects as they are,\n          make the root anew (chainbase-driver: "
                "--state-root none, and in a second call the types as before)\n";
    return text;
}

std::string verified_text(const root_report& found) {
    const root_verification& all = *found.verified;
    std::string text = fmt::format("verified  {} objects, of which {} are in the archive only\n",
                                   grouped(all.objects), grouped(all.archived_objects)) +
                       verdict_of(found);
    if (all.faults.total() != 0) text += "\n";
    for (std::size_t number = 0; number < root_faults::kinds; ++number)
        text += faults_text(all.faults.named(static_cast<root_fault::kind>(number)));
    return text;
}

std::string as_text(const root_report& found, const std::string& state) {
    std::string text = head_of(found, state);
    if (found.root.empty()) return text;
    if (found.verified) text += verified_text(found);
    return text + "\n" + types_text(found);
}

struct root_call : state_call {
    root_report::question question;
};

exit_code run_root(const root_call& asked) {
    const root_report found = root_report::of(asked.state, asked.question);
    warn_if_rolled_back(found.is_rolled_back, asked.state, found.revision);
    print_or_throw(asked.json ? as_json(found, asked.state) : as_text(found, asked.state));
    if (found.has_moved) {
        spdlog::error("{}: its writer changed it each time that its objects were read, so they are "
                      "not compared with the root; read its newest checkpoint ({}@checkpoint), or "
                      "call again when its writer is idle",
                      asked.state, asked.state);
        return exit_code::moved;
    }
    if (found.verified) return found.is_sound() ? exit_code::done : exit_code::damaged;
    for (const std::string& one : found.contradictions)
        spdlog::error("{}: its state root is damaged: {}; call again with --verify", asked.state,
                      one);
    return found.contradictions.empty() ? exit_code::done : exit_code::damaged;
}

} // namespace

void declare_root(command& verb) {
    const auto asked = declare_look<root_call>(verb, run_root);
    asked->question.threads = std::max(1U, std::thread::hardware_concurrency());
    verb.add_flag("--verify", asked->question.verify,
                  "Hash all objects, and list what differs from the root");
    verb.add_option("--limit", asked->question.limit, "Faults to list of each kind at most; 0: all")
        .shows_default()
        .whole_number(0, UINT64_MAX);
    verb.add_option("--threads", asked->question.threads,
                    "Threads that verify; default: one for each processor")
        .whole_number(1, 1024);
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

} // namespace chainbase::inspect
