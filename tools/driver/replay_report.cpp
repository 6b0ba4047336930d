#include <pool_allocator/base/error.hpp>
#include <tools/archive_figures.hpp>
#include <tools/driver/replay_report.hpp>
#include <tools/driver/root/chain_root.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chainbase::driver {

namespace {

std::uint64_t buffer_bytes(const segment_statistics& memory) {
    std::uint64_t sum = 0;
    for (const buffer_statistics& one : memory.buffers)
        sum += one.bytes.total;
    return sum;
}

double seconds_of(std::chrono::nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
}

std::string figure_row(const std::string& name, const std::string& value) {
    return fmt::format("  {:<28}{:>16}\n", name, value);
}

archive_use use_of(const archive::store& rows) {
    return {std::string(archive::to_string(rows.kind())), rows.stats().summarized(),
            archive::engine_of(rows)};
}

std::string text_of(const archive_use& use) {
    std::string text =
        "archive `" + use.store + "` (this run):\n" + chainbase::to_text(use.figures);
    if (use.engine) text += "rocksdb (this run, and now):\n" + chainbase::to_text(*use.engine);
    return text;
}

std::string rows(const chain_model::named_counts& counts) {
    std::string text;
    for (const auto& [name, count] : counts)
        text += figure_row(name, std::to_string(count));
    return text;
}

const char* in_words(std::optional<bool> has_same_writes) {
    if (!has_same_writes) return "";
    return *has_same_writes ? ". It wrote the same, so something else changed before it"
                            : ". It wrote something else";
}

std::string text_of(const reported_root& of) {
    std::string text = fmt::format("state root {} ({} objects of {}{})\n", hex(of.root), of.objects,
                                   fmt::join(of.types, ", "),
                                   of.is_recomputed ? "; computed again from all objects, it is "
                                                      "the same"
                                                    : "");
    if (!of.with.empty())
        text += fmt::format("compared with {}: {} blocks\n", of.with, of.compared);
    if (of.differs)
        text += fmt::format(
            "block {} has another root there: {}{}; `chainbase-driver bisect` names the objects, "
            "when the other one is there, too\n",
            of.differs->number, hex(of.differs->expected), in_words(of.differs->has_same_writes));
    return text;
}

} // namespace

replay_report report_on(const chain_state& state, bool interrupted) {
    replay_report report;
    report.chain = state.chain();
    report.interrupted = interrupted;
    report.blocks = state.blocks();
    report.operations = state.operations();
    report.head = state.head();
    report.irreversible = state.irreversible();
    report.archived = state.model().archived();
    report.oracle = state.model().oracle();
    report.archive = use_of(state.rows());
    report.memory = state.memory();
    if (const chain_root* root = state.root(); root && root->is_current())
        report.state_root.emplace(reported_root{
            root->root(), root->objects(), root->types(), root->seconds(), false, 0, {}, {}});
    if (interrupted) return report;
    try {
        state.model().check();
    } catch (const damaged_error& problem) {
        report.broken_books = problem.what();
    }
    report.state_digest = state.model().state_digest();
    return report;
}

verification verified(const chain_state& state) {
    verification all = state.model().verify();
    std::string text;
    for (const std::string& problem : all.problems)
        text += (text.empty() ? "" : "; ") + problem;
    if (all.problem_count != 0)
        throw damaged_error("verify: " + std::to_string(all.problem_count) + " problem(s): " +
                            text + ". Replay into another folder, and keep this one to examine it");
    return all;
}

json report_value(const archive_use& use) {
    json all{{"store", use.store}};
    all.update(chainbase::to_json(use.figures));
    all["engine"] = use.engine ? chainbase::to_json(*use.engine) : json(nullptr);
    return all;
}

json report_value(const reported_root& of) {
    json all{{"root", hex(of.root)},
             {"objects", of.objects},
             {"types", of.types},
             {"recomputed", of.is_recomputed},
             {"compared_blocks", of.compared},
             {"seconds", of.seconds},
             {"differs", nullptr}};
    if (of.differs)
        all["differs"] = {{"block", of.differs->number},
                          {"expected", hex(of.differs->expected)},
                          {"same_writes", json_of(of.differs->has_same_writes)}};
    return all;
}

json replay_report::objects() const {
    json all = json::object();
    for (const type_statistics& type : memory.types)
        all[type.name] = type.objects;
    return all;
}

json replay_report::bytes() const {
    json types = json::object();
    for (const type_statistics& type : memory.types)
        types[type.name] = type.total().total;
    return {{"types", types},
            {"log", memory.log.total},
            {"buffers", buffer_bytes(memory)},
            {"header", memory.header},
            {"total", memory.total}};
}

json replay_report::lookups() const {
    const archive::statistics_summary& all = archive.figures;
    return {{"hit_in_memory", all.hits_in_memory.count},
            {"hit_in_archive", all.hits_in_archive.count},
            {"miss", all.misses.count},
            {"known_miss", all.known_misses.count}};
}

json report_value(const replay_report& report) {
    json all = members_of(report);
    all["state_digest"] = text_or_null(report.state_digest);
    if (report.verified)
        all["verified"] = {{"objects", report.verified->objects},
                           {"in_memory", report.verified->in_memory},
                           {"in_archive", report.verified->in_archive}};
    return all;
}

std::string to_text(const replay_report& report) {
    std::string text = fmt::format(
        "{}: block {}, {} blocks and {} operations{}\n"
        "this run: {} blocks, {} operations in {}, {} operations/s\n"
        "waited: {} for blocks to apply (busy {:.1f} %; {} of it helping to decode), "
        "{} for room for more\n",
        report.chain, report.head, report.blocks, report.operations,
        report.interrupted ? ", interrupted: the same call goes on" : "", report.replayed_blocks,
        report.replayed_operations, duration_in_words(report.seconds),
        grouped(static_cast<std::uint64_t>(report.ops_per_second())),
        duration_in_words(seconds_of(report.waited.for_blocks)), 100 * report.apply_busy(),
        duration_in_words(seconds_of(report.waited.helping)),
        duration_in_words(seconds_of(report.waited.for_room)));
    if (report.state_root && report.seconds > 0)
        text += fmt::format("roots: {} of it, {:.0f} %, for a root of each block, which a replay "
                            "without --state-root does not make\n",
                            duration_in_words(report.state_root->seconds),
                            100 * report.state_root->seconds / report.seconds);
    text += "in memory (objects, bytes):\n";
    for (const type_statistics& type : report.memory.types)
        text += fmt::format("  {:<28}{:>16}{:>14}\n", type.name, grouped(type.objects),
                            bytes_in_words(type.total().total));
    text += fmt::format("  {:<28}{:>30}\n  {:<28}{:>30}\n  {:<28}{:>30}\n", "texts",
                        bytes_in_words(buffer_bytes(report.memory)), "undo log",
                        bytes_in_words(report.memory.log.total), "all",
                        bytes_in_words(report.memory.total));
    if (!report.archived.empty()) text += "in the archive (objects):\n" + rows(report.archived);
    text += text_of(report.archive);
    text += "oracle:\n" + rows(report.oracle);
    if (report.verified)
        text += fmt::format("verified: {} objects by id and by key, {} in memory, {} in the "
                            "archive\n",
                            report.verified->objects, report.verified->in_memory,
                            report.verified->in_archive);
    if (report.state_root) text += text_of(*report.state_root);
    if (report.broken_books) text += *report.broken_books + '\n';
    if (!report.interrupted) text += "state digest " + report.state_digest + "\n";
    return report.log_cut ? text + *report.log_cut + "\n" : text;
}

} // namespace chainbase::driver
