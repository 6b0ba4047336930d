#include <archive/state_digest.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/compare/content_digest.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/rows/ordered_chunks.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state/bookkeeping.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>

namespace chainbase::inspect {

namespace {

constexpr std::uint32_t ids_at_once = 8192;

std::set<std::string> names_in(still_state& state) {
    std::set<std::string> names;
    state.take_turn([&] {
        for (const type_schema* schema : state.source().types())
            names.insert(schema->name);
    });
    return names;
}

/// One try to read all of a state.
class attempt {
public:
    attempt(row_source& state, const content_digest::question& asked)
        : state_(state), asked_(asked) {
        // After the moment: what the state handed over by then is there.
        if (!asked.memory_only) archive_ = open_archive(state);
    }

    content_digest run() {
        content_digest found;
        found.revision = state_.revision();
        found.is_rolled_back = state_.source().is_rolled_back();
        const std::set<std::string> names = names_in(state_);
        archive::state_digest whole;
        for (const std::string& name : wanted(names))
            found.types.push_back(read(name, names, whole));
        found.digest = whole.hex();
        return found;
    }

private:
    [[nodiscard]] std::set<std::string> wanted(const std::set<std::string>& names) const {
        if (asked_.types.empty()) return names;
        return {asked_.types.begin(), asked_.types.end()};
    }

    content_digest::type read(const std::string& name, const std::set<std::string>& names,
                              archive::state_digest& whole) {
        content_digest::type found;
        found.name = name;
        if (asked_.types.empty()) {
            state_.take_turn([&] {
                const rows::type_rows of = state_.source().of(name);
                found.why_not = why_bookkeeping(of.schema(), names);
                found.rows = of.slots().live();
            });
            if (!found.why_not.empty()) return found;
        }
        type_records all(state_, name, archive_.get(),
                         asked_.memory_only ? type_records::places::memory
                                            : type_records::places::both);
        found.undescribed = all.record().undescribed();
        const sha256_digest digest = digest_of(all);
        whole.add(name, digest);
        found.digest = hex(digest);
        found.rows = all.rows();
        found.archived_rows = all.archived_rows();
        return found;
    }

    sha256_digest digest_of(type_records& all) const {
        sha256 sum;
        const std::size_t pieces = (std::size_t{all.end()} + ids_at_once - 1) / ids_at_once;
        made_in_order(
            pieces, asked_.threads,
            [&](std::size_t piece) {
                const auto begin = static_cast<std::uint32_t>(piece * ids_at_once);
                return all.read(begin, begin + std::min(ids_at_once, all.end() - begin));
            },
            [&](const archive::byte_buffer& records) { sum.add(records); });
        return sum.finish();
    }

    still_state state_;
    const content_digest::question& asked_;
    std::unique_ptr<archive::store> archive_;
};

} // namespace

content_digest content_digest::of(const std::filesystem::path& state, const question& asked) {
    row_source from(state);
    if (auto found = attempt_while_still([&] { return attempt(from, asked).run(); }))
        return *std::move(found);
    content_digest none;
    none.revision = from.current_revision();
    none.has_moved = true;
    return none;
}

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

void declare_digest(command& verb) {
    const auto asked = std::make_shared<digest_call>();
    asked->question.threads = std::max(1U, std::thread::hardware_concurrency());
    verb.add_option("DIR", asked->state, "The folder of the state").required();
    verb.add_option("--type", asked->question.types, "Just these types");
    verb.add_option("--threads", asked->question.threads,
                    "Threads that read; else one for each processor")
        .whole_number(1, 1024);
    verb.add_flag("--memory", asked->question.memory_only,
                  "Without objects that are in the archive only");
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return look_at(asked->state, [&] { return run_digest(*asked); }); });
}

} // namespace chainbase::inspect
