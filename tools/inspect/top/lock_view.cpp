#include <tools/inspect/top/view_tables.hpp>

#include <fmt/format.h>

namespace chainbase::inspect {

namespace {

using doing = lock_report::doing;

cell standing(doing what, bool is_alive, const char* inside) {
    const char* word = what == doing::idle ? "idle" : what == doing::waiting ? "waiting" : inside;
    if (!is_alive) return {fmt::format("{}, and dead", word), std::nullopt, text_style::bad};
    return {word, std::nullopt,
            what == doing::waiting  ? text_style::warning
            : what == doing::inside ? text_style::good
                                    : text_style::plain};
}

cell age(doing what, double seconds) {
    return what == doing::idle ? nothing() : cell{short_age(seconds), seconds};
}

} // namespace

sortable_table lock_table(const view_content& content) {
    sortable_table table(
        {{"who"}, {"process"}, {"thread"}, {"is", /*is_text=*/true}, {"for"}, {"slot"}});
    const lock_report& locks = content.sample.now.locks;
    if (locks.writer.process != 0)
        table.add({text(locks.writer.is_alive ? "(writer)" : "(last writer)"),
                   whole(locks.writer.process), nothing(),
                   locks.writer.is_alive || locks.writer.what != doing::idle
                       ? standing(locks.writer.what, locks.writer.is_alive, "writing")
                       : text("gone"),
                   age(locks.writer.what, locks.writer.seconds), nothing()});
    for (const lock_report::of_reader& one : locks.readers)
        table.add({text(printable(one.name)), whole(one.process), whole(one.thread),
                   standing(one.what, one.is_alive, "reading"), age(one.what, one.seconds),
                   whole(one.slot)});
    return table;
}

} // namespace chainbase::inspect
