#include <archive/state_digest.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <tools/inspect/archive/segment_archive.hpp>
#include <tools/inspect/rows/row_source.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state/schema.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::inspect {

namespace {

/// The digest of a state's content, computed through its catalogue alone. Equals that of
/// archive/state_digest.hpp, computed from the types: equal content has equal digests, whatever the
/// history, the addresses, and the places of the objects.
struct content_digest {
    struct type {
        std::string name;
        std::string why_not; ///< why it is excluded; empty if it is not
        /// 64 hexadecimal digits; empty: not requested, or the state changed
        std::string digest;
        std::uint64_t rows = 0;          ///< in memory
        std::uint64_t archived_rows = 0; ///< in the archive only
        /// Fields hashed as raw bytes: the catalogue does not describe them.
        std::vector<std::string> undescribed;
    };
    struct question {
        std::vector<std::string> types; ///< only these; empty: all but bookkeeping
        unsigned threads = 2;
        bool memory_only = false; ///< without rows that are only in the archive
    };

    std::int64_t revision = 0;
    bool is_rolled_back = false;
    /// The state changed during every attempt: no digests.
    bool has_moved = false;
    std::string digest;      ///< of all included types
    std::vector<type> types; ///< by name

    /// Reads in turns, beside a writer at least three times and for two seconds, until nothing
    /// changed during an attempt. Throws usage_error for an unknown type, damaged_error also when
    /// the archive lacks rows that the state handed over, schema_error when its rows have several
    /// layouts, and what reading the state and its archive throws.
    [[nodiscard]] static content_digest of(const std::filesystem::path& state,
                                           const question& asked);
};

constexpr std::uint32_t ids_at_once = 8192;

std::set<std::string> names_in(unchanging_state& state) {
    std::set<std::string> names;
    state.take_turn([&] {
        for (const type_schema* schema : state.source().types())
            names.insert(schema->name);
    });
    return names;
}

/// One attempt to read a whole state.
class attempt {
public:
    attempt(row_source& state, const content_digest::question& asked)
        : state_(state), asked_(asked) {
        // After the state: rows that it has handed over exist by now.
        if (!asked.memory_only) archive_ = open_archive(state);
    }

    content_digest run() {
        content_digest found;
        found.revision = state_.revision();
        found.is_rolled_back = state_.source().is_rolled_back();
        const std::set<std::string> names = names_in(state_);
        state_.take_turn([&] {
            for (const std::string& name : wanted(names))
                if (names.contains(name)) all_ += state_.source().of(name).slots().next_id();
        });
        archive::state_digest whole;
        for (const std::string& name : wanted(names))
            found.types.push_back(read(name, names, whole));
        state_.take_turn([] {}); // confirms that rows of an archive in memory are of it, too
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

    sha256_digest digest_of(type_records& all) {
        sha256 sum;
        const std::size_t pieces = (std::size_t{all.end()} + ids_at_once - 1) / ids_at_once;
        made_in_order(
            pieces, asked_.threads,
            [&](std::size_t piece) {
                const auto begin = static_cast<std::uint32_t>(piece * ids_at_once);
                return all.read(begin, begin + std::min(ids_at_once, all.end() - begin));
            },
            [&](const archive::byte_buffer& records) {
                sum.add(records);
                shown_.show(done_ += ids_at_once, all_);
            });
        return sum.finish();
    }

    unchanging_state state_;
    const content_digest::question& asked_;
    std::unique_ptr<archive::store> archive_;
    progress shown_{"digesting", "ids"};
    std::uint64_t done_ = 0;
    std::uint64_t all_ = 0; ///< ids, about
};

content_digest content_digest::of(const std::filesystem::path& state, const question& asked) {
    row_source from(state);
    if (asked.types.empty()) from.read_all(/*and_keys=*/false);
    if (auto found = attempt_while_unchanged([&] { return attempt(from, asked).run(); }))
        return *std::move(found);
    content_digest none;
    none.revision = from.current_revision();
    none.has_moved = true;
    return none;
}

struct digest_call : state_call {
    content_digest::question question;
};

json report_value(const content_digest::type& one) {
    return {{"name", one.name},
            {"digest", text_or_null(one.digest)},
            {"why_not", text_or_null(one.why_not)},
            {"rows", one.rows},
            {"archived_rows", one.archived_rows},
            {"undescribed", one.undescribed}};
}

std::string digest_json(const content_digest& found, const digest_call& asked) {
    return lines_of({{"schema_version", 1},
                     {"state", asked.state},
                     {"revision", found.revision},
                     {"rolled_back", found.is_rolled_back},
                     {"moved", found.has_moved},
                     {"memory_only", asked.question.memory_only},
                     {"digest", text_or_null(found.digest)},
                     {"types", json_of(found.types)}},
                    2);
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
            text += fmt::format("{}: the bytes of {} are hashed as they are; they may differ "
                                "where the content does not\n",
                                one.name, fmt::join(one.undescribed, ", "));
    return text + fmt::format("\nrevision {}\ndigest   {}\n", found.revision, found.digest);
}

exit_code run_digest(const digest_call& asked) {
    const content_digest found = content_digest::of(asked.state, asked.question);
    warn_if_rolled_back(found.is_rolled_back, asked.state, found.revision);
    if (asked.json)
        print_or_throw(digest_json(found, asked));
    else if (!found.has_moved)
        print_or_throw(digest_text(found));
    if (!found.has_moved) return exit_code::done;
    spdlog::error("{}: its writer changed it each time that it was read, so there is no digest "
                  "of one block; take that of its newest checkpoint ({}@checkpoint), or call "
                  "again when its writer is idle, or keep more log for readers there "
                  "(open_options::snapshot_log_bytes)",
                  asked.state, asked.state);
    return exit_code::moved;
}

} // namespace

void declare_digest(command& verb) {
    const auto asked = declare_look<digest_call>(verb, run_digest);
    asked->question.threads = std::max(1U, std::thread::hardware_concurrency());
    verb.add_option("--type", asked->question.types, "Only these types");
    verb.add_option("--threads", asked->question.threads,
                    "Threads that read; default: one for each processor")
        .whole_number(1, 1024);
    verb.add_flag("--memory", asked->question.memory_only,
                  "Without objects that are in the archive only");
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

} // namespace chainbase::inspect
