#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/ofd_lock.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/print.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

namespace chainbase::inspect {

namespace {

std::string since(lock_report::doing what, double seconds) {
    return what == lock_report::doing::idle ? "" : duration_in_words(seconds);
}

std::string writer_text(const lock_report::of_writer& writer) {
    if (writer.process == 0) return "writer     none yet\n";
    const std::string what = in_words(writer.what, "writing");
    if (writer.is_alive)
        return fmt::format("writer     process {}, {}{}\n", writer.process, what,
                           writer.what == lock_report::doing::idle
                               ? ""
                               : " for " + since(writer.what, writer.seconds));
    if (writer.what == lock_report::doing::idle)
        return fmt::format("writer     none (the last one was process {})\n", writer.process);
    return fmt::format("writer     process {} died while it was {}, which it began {} ago; readers "
                       "wait until the program that writes the state is started again\n",
                       writer.process, what, since(writer.what, writer.seconds));
}

/// Whether a check runs: it holds a shared lock, which keeps writers out. The kernel reports such a
/// lock, but not its owner.
bool holds_check_lock(const std::filesystem::path& state) {
    const std::filesystem::path file = state / "lock";
    const file_descriptor at(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return at.number() >= 0 && ofd_lock::conflicting_lock(at.number(), ofd_lock::kind::exclusive) ==
                                   ofd_lock::kind::shared;
}

} // namespace

state_locks state_locks::read(const std::filesystem::path& state) {
    return {lock_report::read(state), holds_check_lock(state)};
}

std::string in_words(lock_report::doing what, const char* inside) {
    switch (what) {
    case lock_report::doing::idle:
        return "idle";
    case lock_report::doing::waiting:
        return "waiting";
    case lock_report::doing::inside:
        return inside;
    }
    return "unknown";
}

std::string in_words(const lock_report::of_reader& reader) {
    return reader.has_snapshot ? "snapshot" : in_words(reader.what, "reading");
}

std::string as_text(const state_locks& found) {
    const lock_report& locks = found.turns;
    std::string text = writer_text(locks.writer);
    if (found.is_being_checked)
        text += "check      a process checks the state; no writer can open it until that is done\n";
    if (locks.readers.empty()) return text + "readers    none\n";
    text_table table({"reader", "process", "thread", "is", "for", "slot"});
    for (const lock_report::of_reader& one : locks.readers)
        table.add({one.name, std::to_string(one.process), std::to_string(one.thread),
                   in_words(one) + (one.is_alive ? "" : ", and dead"), since(one.what, one.seconds),
                   std::to_string(one.slot)});
    return text + "\n" + table.text();
}

std::string as_json(const state_locks& found) {
    const lock_report& locks = found.turns;
    const lock_report::of_writer& writer = locks.writer;
    json readers = json::array();
    for (const lock_report::of_reader& one : locks.readers)
        readers.push_back({{"slot", one.slot},
                           {"process", one.process},
                           {"thread", one.thread},
                           {"name", one.name},
                           {"alive", one.is_alive},
                           {"state", in_words(one)},
                           {"seconds", one.seconds}});
    return lines_of({{"schema_version", 1},
                     {"writer",
                      {{"process", writer.process},
                       {"alive", writer.is_alive},
                       {"state", in_words(writer.what, "writing")},
                       {"seconds", writer.seconds}}},
                     {"checked", found.is_being_checked},
                     {"readers", readers}});
}

void declare_locks(command& verb) {
    declare_report(verb, "Print one JSON object instead of a table", state_locks::read);
}

} // namespace chainbase::inspect
