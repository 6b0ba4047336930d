#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/offline/snapshot_file/trust.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <pool_allocator/base/unfinished_name.hpp>
#include <tools/inspect/snapshot/row_differences.hpp>
#include <tools/inspect/snapshot/state_writer.hpp>
#include <tools/inspect/snapshot/tar_stream.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/memory_folder.hpp>
#include <tools/progress.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace chainbase::inspect {

namespace fs = std::filesystem;
using snapshot_file::chunk_entry;
using snapshot_file::folder_reader;
using snapshot_file::manifest;
using snapshot_file::type_entry;

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
}

unsigned all_processors() {
    return std::max(1U, std::thread::hardware_concurrency());
}

/// A snapshot that is read, and what the caller trusts.
struct read_call {
    fs::path snapshot;
    std::vector<fs::path> bases;
    snapshot_file::trusted_root trusted;
    unsigned threads = all_processors();
    bool json = false;

    [[nodiscard]] bool is_stream() const { return snapshot == stream_word; }
    [[nodiscard]] folder_reader open() const { return trusted_one(folder_reader(snapshot, bases)); }
    /// Of a stream, with its chunks in `folder`.
    [[nodiscard]] folder_reader open(manifest all, const fs::path& folder) const {
        return trusted_one(folder_reader(folder, std::move(all), bases));
    }

private:
    [[nodiscard]] folder_reader trusted_one(folder_reader from) const {
        trusted.require(from.manifest(), from.folder().string());
        return from;
    }
};

template <typename Call>
std::shared_ptr<Call> declare_read(command& verb,
                                   const char* description = "The folder of the snapshot") {
    auto asked = std::make_shared<Call>();
    verb.add_option("DIR", asked->snapshot, description).required();
    verb.add_option("--base", asked->bases, "Where chunks are that an incremental snapshot shares")
        .one_value_each_time()
        .value_name("FOLDER");
    return asked;
}

constexpr const char* or_stream = "The folder of the snapshot; -: a tar stream of it on stdin";

void declare_trust(command& verb, read_call& asked) {
    verb.add_option_function<std::string>(
            "--trusted-root",
            [&asked](const std::string& word) {
                asked.trusted.root = snapshot_file::digest_of(word);
            },
            "The state root that the snapshot must have, as a block header says it")
        .value_name("HEX");
    verb.add_option_function<std::string>(
            "--trusted-name",
            [&asked](const std::string& word) {
                asked.trusted.name = snapshot_file::digest_of(word);
            },
            "The name that the snapshot must have: SHA-256 of its manifest")
        .value_name("HEX");
}

void declare_threads(command& verb, unsigned& threads) {
    verb.add_option("--threads", threads, "Threads; default: one for each processor")
        .whole_number(1, 1024);
}

json head_of(const fs::path& folder, const manifest& all) {
    json head{{"schema_version", 1},
              {"snapshot", folder.string()},
              {"name", hex(all.name())},
              {"chain", text_or_null(all.chain)},
              {"revision", all.revision},
              {"block", nullptr},
              {"state_root", all.state_root ? json(hex(*all.state_root)) : json(nullptr)},
              {"archive", text_or_null(all.archive)},
              {"objects", all.objects()},
              {"chunks", all.chunks()},
              {"bytes", all.bytes()}};
    if (all.block) head["block"] = {{"number", all.block->number}, {"id", all.block->id}};
    return head;
}

std::string in_words(const manifest& all) {
    return fmt::format("{} objects of {} types in {} chunks, {}, as of {}revision {}",
                       all.objects(), all.types.size(), all.chunks(), bytes_in_words(all.bytes()),
                       all.block ? fmt::format("block {}, ", all.block->number) : "", all.revision);
}

// --- write ---

struct write_call : state_call {
    snapshot_call how;
};

written_snapshot streamed(row_source& state, const snapshot_call& how) {
    tar_writer to(how.base);
    return write_snapshot(state, to, how.threads);
}

exit_code run_write(const write_call& asked) {
    const auto begin = clock::now();
    const catch_interruption interruption;
    row_source from(asked.state);
    const bool is_stream = asked.how.to == stream_word;
    written_snapshot made;
    try {
        made = is_stream ? streamed(from, asked.how) : write_snapshot(from, asked.how);
    } catch (const too_old_error& problem) {
        spdlog::error("{}", problem.what());
        return exit_code::moved;
    }
    warn_if_rolled_back(from.is_rolled_back(), asked.state, made.all.revision);
    json report = head_of(asked.how.to, made.all);
    report["state"] = asked.state;
    report["written_chunks"] = made.files.written;
    report["written_bytes"] = made.files.written_bytes;
    report["kept_chunks"] = made.files.kept;
    report["seconds"] = seconds_since(begin);
    const std::string text =
        asked.json ? line_of(report) + "\n"
                   : fmt::format("{}: {}; {} written, {} compressed; {} were there\nname  {}\n",
                                 asked.how.to.string(), in_words(made.all), made.files.written,
                                 bytes_in_words(made.files.written_bytes), made.files.kept,
                                 hex(made.all.name()));
    is_stream ? fmt::print(stderr, "{}", text) : print_or_throw(text);
    return exit_code::done;
}

void declare_write(command& verb) {
    const auto asked = declare_look<write_call>(verb, run_write);
    asked->how.threads = all_processors();
    verb.add_option("--to", asked->how.to,
                    "The folder to make, or to go on with; -: a tar stream on stdout")
        .value_name("FOLDER")
        .required();
    verb.add_option("--base", asked->how.base,
                    "A whole snapshot: chunks that it has are not written again")
        .value_name("FOLDER");
    declare_threads(verb, asked->how.threads);
    verb.add_flag("--json", asked->json, "Print one JSON object");
}

// --- info ---

exit_code run_info(const read_call& asked) {
    const folder_reader from = asked.open();
    const manifest& all = from.manifest();
    json report = head_of(asked.snapshot, all);
    report["types"] = json::array();
    text_table table({"type", "objects", "archived", "chunks", "bytes", "in the root", "root"});
    table.is_text(5);
    table.is_text(6);
    for (const type_entry& one : all.types) {
        std::uint64_t bytes = 0;
        std::uint64_t removed = 0;
        for (const chunk_entry& chunk : one.chunks)
            bytes += chunk.bytes;
        for (const chunk_entry& chunk : one.removed) {
            bytes += chunk.bytes;
            removed += chunk.objects;
        }
        const std::size_t chunks = one.chunks.size() + one.removed.size();
        report["types"].push_back({{"name", one.schema.name},
                                   {"objects", one.objects},
                                   {"archived", one.archived},
                                   {"removed", removed},
                                   {"chunks", chunks},
                                   {"bytes", bytes},
                                   {"committed", one.is_committed},
                                   {"root", hex(one.root)}});
        table.add({one.schema.name, grouped(one.objects), grouped(one.archived), grouped(chunks),
                   bytes_in_words(bytes), one.is_committed ? "yes" : "no",
                   hex(one.root).substr(0, 16)});
    }
    print_or_throw(asked.json
                       ? lines_of(report, 2)
                       : fmt::format("{}\n{}\n\nstate root  {}\nname        {}\n", table.text(),
                                     in_words(all),
                                     all.state_root ? hex(*all.state_root) : "none is recorded",
                                     hex(all.name())));
    return exit_code::done;
}

void declare_snapshot_info(command& verb) {
    const auto asked = declare_read<read_call>(verb);
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return run_info(*asked); });
}

// --- verify ---

struct bad_chunk {
    std::string type;
    chunk_entry chunk;
    std::string problem;
};

/// What is wrong with a chunk that need not be read; empty: it is right; nothing: read it.
using known_problem = std::function<std::optional<std::string>(const chunk_entry&)>;

std::vector<bad_chunk> bad_chunks(const folder_reader& from, unsigned threads,
                                  const known_problem& known) {
    std::vector<std::pair<const type_entry*, const chunk_entry*>> all;
    for (const type_entry& one : from.manifest().types) {
        for (const chunk_entry& chunk : one.chunks)
            all.emplace_back(&one, &chunk);
        for (const chunk_entry& chunk : one.removed)
            all.emplace_back(&one, &chunk);
    }
    progress shown("verifying");
    std::uint64_t done = 0;
    std::size_t number = 0;
    std::vector<bad_chunk> bad;
    made_in_order(
        all.size(), threads,
        [&](std::size_t at) -> std::string {
            try {
                if (auto problem = known(*all[at].second)) return *std::move(problem);
                static_cast<void>(from.content(*all[at].first, *all[at].second));
            } catch (const damaged_error& problem) {
                return problem.what();
            } catch (const io_error& problem) {
                return problem.what();
            }
            return {};
        },
        [&](const std::string& problem) {
            const auto& [type, chunk] = all[number++];
            if (!problem.empty()) bad.push_back({type->schema.name, *chunk, problem});
            shown.advance(done += chunk->bytes, from.manifest().bytes());
        });
    return bad;
}

/// The chunks of a stream, which is read once and not kept.
class streamed_chunks {
public:
    [[nodiscard]] manifest read() {
        progress shown("reading");
        std::uint64_t done = 0;
        return read_tar([&](const tar_chunk& one) {
            try {
                right_.emplace(one.digest, one.proven());
            } catch (const damaged_error& problem) {
                bad_.emplace(one.digest, problem.what());
            }
            shown.advance(done += one.file.size(), 0);
        });
    }
    [[nodiscard]] std::optional<std::string> problem_of(const chunk_entry& one) const {
        if (const auto found = bad_.find(one.digest); found != bad_.end()) return found->second;
        const auto found = right_.find(one.digest);
        if (found == right_.end()) return std::nullopt; // a base may have it
        if (has_same_rows(found->second, one)) return "";
        return fmt::format("{}: chunks/{}: it has other objects than the manifest says; get the "
                           "manifest again",
                           stdin_name, hex(one.digest));
    }

private:
    std::map<sha256_digest, chunk_entry> right_;
    std::map<sha256_digest, std::string> bad_;
};

exit_code verify(const read_call& asked) {
    streamed_chunks came;
    const folder_reader from =
        asked.is_stream() ? asked.open(came.read(), stdin_name) : asked.open();
    const std::vector<bad_chunk> bad = bad_chunks(from, asked.threads, [&](const chunk_entry& one) {
        return asked.is_stream() ? came.problem_of(one) : std::nullopt;
    });
    const std::vector<std::string> unproven = asked.trusted.not_covered(from.manifest());
    json report = head_of(asked.snapshot, from.manifest());
    report["sound"] = bad.empty();
    report["not_proven"] = unproven;
    report["bad_chunks"] = json::array();
    std::string text;
    for (const bad_chunk& one : bad) {
        report["bad_chunks"].push_back({{"type", one.type},
                                        {"first", one.chunk.at.first},
                                        {"height", one.chunk.at.height},
                                        {"digest", hex(one.chunk.digest)},
                                        {"problem", one.problem}});
        text += one.problem + "\n";
    }
    text += fmt::format(
        "{}: {}: {}\n", asked.snapshot.string(), in_words(from.manifest()),
        bad.empty() ? "all chunks are those of the manifest"
                    : fmt::format("{} chunks are bad; take them from elsewhere", bad.size()));
    if (asked.trusted.root && !unproven.empty())
        text +=
            fmt::format("the root does not commit to {}; their objects are as the manifest says "
                        "(--trusted-name)\n",
                        fmt::join(unproven, ", "));
    print_or_throw(asked.json ? line_of(report) + "\n" : text);
    return bad.empty() ? exit_code::done : exit_code::damaged;
}

exit_code run_verify(const read_call& asked) {
    const catch_interruption interruption;
    try {
        return verify(asked);
    } catch (const damaged_error& problem) { // of the manifest
        spdlog::error("{}", problem.what());
        return exit_code::damaged;
    }
}

void declare_verify(command& verb) {
    const auto asked = declare_read<read_call>(verb, or_stream);
    declare_trust(verb, *asked);
    declare_threads(verb, asked->threads);
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return run_verify(*asked); });
}

// --- load ---

struct load_snapshot_call : read_call {
    fs::path to;
    std::string readers_group;
    fs::path memory_folder;
    fs::path types_of;
    std::vector<std::string> renamed;
    std::vector<std::string> dropped;
    snapshot_file::loading_options how;
    bool is_dry = false;
};

std::pair<std::string, std::string> halves(const std::string& word, char between,
                                           const char* option) {
    const auto at = word.find(between);
    if (at == std::string::npos || at == 0 || at + 1 == word.size())
        throw usage_error(fmt::format("{}: \"{}\" is not of the form A{}B", option, word, between));
    return {word.substr(0, at), word.substr(at + 1)};
}

/// The words of --rename and --drop, and the types of another state.
void take_rules(load_snapshot_call& asked) {
    for (const std::string& word : asked.renamed) {
        const auto [now, was] = halves(word, '=', "--rename");
        const auto dot = now.find('/');
        if (dot == std::string::npos)
            asked.how.renamed_types[now] = was;
        else
            asked.how.rules[now.substr(0, dot)].renamed[now.substr(dot + 1)] = was;
    }
    for (const std::string& word : asked.dropped) {
        const auto dot = word.find('/');
        if (dot == std::string::npos)
            asked.how.dropped_types.insert(word);
        else
            asked.how.rules[word.substr(0, dot)].dropped.insert(word.substr(dot + 1));
    }
    if (asked.types_of.empty()) return;
    row_source like(asked.types_of);
    asked.how.types.emplace();
    like.take_turn([&] {
        asked.how.types->clear();
        for (const type_schema* one : like.types())
            asked.how.types->push_back(*one);
    });
}

exit_code run_dry(const load_snapshot_call& asked, const folder_reader& from) {
    const auto changes = dry_run(from, asked.how);
    json report = head_of(asked.snapshot, from.manifest());
    report["types"] = json::array();
    std::string text;
    std::uint64_t failing = 0;
    for (const snapshot_file::type_change& one : changes) {
        json fields = json::array();
        if (one.was.empty())
            text += one.type + ": a new type, without objects\n";
        else if (one.is_dropped)
            text += one.type + ": dropped, with all its objects\n";
        else if (one.was != one.type)
            text += one.type + ": was called " + one.was + "\n";
        for (const snapshot_file::field_change& field : one.fields) {
            fields.push_back({{"field", field.field},
                              {"what", to_string(field.what)},
                              {"was", text_or_null(field.was)},
                              {"now", text_or_null(field.now)}});
            if (field.what != snapshot_file::field_change::kind::same)
                text += fmt::format("{}.{}: {}{}{}\n", one.type, field.field, to_string(field.what),
                                    field.was.empty() ? "" : ", was " + field.was,
                                    field.now.empty() ? "" : ", is " + field.now);
        }
        for (const std::string& key : one.keys_added)
            text += fmt::format("{}: key {} is made\n", one.type, key);
        for (const std::string& key : one.keys_dropped)
            text += fmt::format("{}: key {} is left out\n", one.type, key);
        if (one.failing != 0)
            text += fmt::format("{}: {} objects cannot be taken over: {}\n", one.type, one.failing,
                                one.first_failure);
        failing += one.failing;
        report["types"].push_back({{"type", one.type},
                                   {"was", text_or_null(one.was)},
                                   {"dropped", one.is_dropped},
                                   {"fields", std::move(fields)},
                                   {"keys_added", one.keys_added},
                                   {"keys_dropped", one.keys_dropped},
                                   {"failing", one.failing},
                                   {"first_failure", text_or_null(one.first_failure)}});
    }
    text += failing == 0 ? "every object can be taken over\n" : "";
    print_or_throw(asked.json ? lines_of(report, 2) : text);
    return failing == 0 ? exit_code::done : exit_code::different;
}

/// The chunks of a stream in a folder that is no snapshot, because it gets no manifest. Removed
/// with this object; what a killed call left is overwritten.
class unpacked_stream {
public:
    /// Throws as folder_writer does.
    explicit unpacked_stream(const fs::path& folder) : folder_(folder), to_(folder) {}
    ~unpacked_stream() {
        std::error_code ignored; // what is left is no snapshot
        fs::remove_all(folder_, ignored);
    }
    unpacked_stream(const unpacked_stream&) = delete;
    unpacked_stream& operator=(const unpacked_stream&) = delete;

    [[nodiscard]] manifest read() {
        progress shown("reading");
        return read_tar([&](const tar_chunk& one) {
            to_.put_file(one.proven(), one.file);
            shown.advance(to_.so_far().written_bytes, 0);
        });
    }
    [[nodiscard]] const fs::path& folder() const noexcept { return folder_; }

private:
    fs::path folder_;
    snapshot_file::folder_writer to_;
};

exit_code run_load(load_snapshot_call& asked) {
    const auto begin = clock::now();
    const catch_interruption interruption;
    std::optional<unpacked_stream> stream;
    if (asked.is_stream()) {
        if (asked.to.empty())
            throw usage_error("--to: the folder of the new state is missing, beside which the "
                              "stream is unpacked");
        const fs::path state = without_slash(asked.to);
        require_free(state);
        stream.emplace(state.string() + ".snapshot");
    }
    const folder_reader from = stream ? asked.open(stream->read(), stream->folder()) : asked.open();
    take_rules(asked);
    asked.how.threads = asked.threads;
    if (asked.is_dry) return run_dry(asked, from);
    if (asked.to.empty()) throw usage_error("--to: the folder of the new state is missing");
    asked.how.limits.readers_group = asked.readers_group;
    asked.how.limits.memory_folder = asked.memory_folder;
    progress shown("loading");
    asked.how.tell = [&](std::uint64_t done, std::uint64_t all) { shown.advance(done, all); };
    asked.how.on_kept = [&] { shown.keeps_what_is_done(); };
    const auto loaded = load_as(from, asked.to, asked.how);
    const json report{{"schema_version", 1},
                      {"state", asked.to.string()},
                      {"snapshot", asked.snapshot},
                      {"name", hex(from.manifest().name())},
                      {"revision", loaded.revision},
                      {"objects", loaded.objects},
                      {"archived", loaded.archived},
                      {"not_proven", asked.trusted.not_covered(from.manifest())},
                      {"seconds", seconds_since(begin)}};
    print_or_throw(asked.json ? line_of(report) + "\n"
                              : fmt::format("{}: {} objects, {} rows of the archive, revision {}\n",
                                            asked.to.string(), loaded.objects, loaded.archived,
                                            loaded.revision));
    return exit_code::done;
}

void declare_load_snapshot(command& verb) {
    const auto asked = declare_read<load_snapshot_call>(verb, or_stream);
    verb.add_option("--to", asked->to, "The folder of the new state; it must not exist")
        .value_name("STATE");
    declare_trust(verb, *asked);
    verb.add_option("--types-of", asked->types_of,
                    "A state that has the types that the new one is to have; default: those of the "
                    "snapshot")
        .value_name("STATE");
    verb.add_option("--rename", asked->renamed, "What a type, or a field TYPE/FIELD, was called")
        .one_value_each_time()
        .value_name("NEW=OLD");
    verb.add_option("--drop", asked->dropped, "A type, or a field, whose content may be lost")
        .one_value_each_time()
        .value_name("TYPE[/FIELD]");
    verb.add_flag("--dry-run", asked->is_dry,
                  "Only say what becomes of each field, and count the objects that fail");
    verb.add_option("--archive", asked->how.archive,
                    "The kind of the new archive; default: that of the snapshot")
        .one_of({"rocksdb", "memory", "none"});
    verb.add_option("--readers-group", asked->readers_group,
                    "The group whose members may read the state")
        .value_name("GROUP");
    add_memory_folder(verb, asked->memory_folder);
    declare_threads(verb, asked->threads);
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return run_load(*asked); });
}

// --- diff ---

struct diff_snapshot_call : read_call {
    fs::path other;
    std::uint64_t limit = 10;
};

exit_code run_diff(const diff_snapshot_call& asked) {
    const catch_interruption interruption;
    const folder_reader a = asked.open();
    const folder_reader b(asked.other, asked.bases);
    const std::vector<type_difference> found = differences(a, b, asked.limit);
    json report{{"schema_version", 1},
                {"snapshot", asked.snapshot},
                {"other", asked.other},
                {"same", found.empty()},
                {"types", json::array()}};
    std::string text;
    for (const type_difference& one : found) {
        report["types"].push_back({{"type", one.type},
                                   {"problem", text_or_null(one.problem)},
                                   {"only_first", one.only_a},
                                   {"only_other", one.only_b},
                                   {"changed", one.changed},
                                   {"placed", one.placed},
                                   {"ids", one.ids}});
        text +=
            one.problem.empty()
                ? fmt::format("{}: {} objects differ, {} are only in the first, {} only in the "
                              "other, {} only in the archive of one: {}{}\n",
                              one.type, one.changed, one.only_a, one.only_b, one.placed,
                              fmt::join(one.ids, ", "), one.all() > one.ids.size() ? ", ..." : "")
                : fmt::format("{}: {}\n", one.type, one.problem);
    }
    if (found.empty()) text = "both have the same objects\n";
    print_or_throw(asked.json ? line_of(report) + "\n" : text);
    return found.empty() ? exit_code::done : exit_code::different;
}

void declare_snapshot_diff(command& verb) {
    const auto asked = declare_read<diff_snapshot_call>(verb);
    verb.add_option("OTHER", asked->other, "The folder of the other snapshot").required();
    verb.add_option("--limit", asked->limit, "How many ids of each type are named").shows_default();
    verb.add_flag("--json", asked->json, "Print one JSON object");
    verb.runs([asked] { return run_diff(*asked); });
}

constexpr verb_entry snapshot_verbs[] = {
    {"write", "Write a state to files that can be proven and loaded anywhere", declare_write,
     "snapshot write state --to snapshot"},
    {"info", "Show what is in a snapshot", declare_snapshot_info, "snapshot info snapshot"},
    {"verify", "Check every chunk of a snapshot, against a root that is trusted", declare_verify,
     "snapshot verify snapshot"},
    {"load", "Make a state of a snapshot, also with other types", declare_load_snapshot,
     "snapshot load snapshot --to new-state"},
    {"diff", "Show which objects differ between two snapshots", declare_snapshot_diff,
     "snapshot diff snapshot other-snapshot"},
};

} // namespace

void declare_snapshot(command& verb) {
    verb.add_verbs(snapshot_verbs);
}

} // namespace chainbase::inspect
