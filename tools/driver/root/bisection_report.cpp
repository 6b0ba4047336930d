#include <tools/driver/root/bisection.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace chainbase::driver {

namespace {

using json = nlohmann::ordered_json;

json json_of(const known_roots::entry& one) {
    return {{"root", hex(one.root)}, {"writes", hex(one.writes)}};
}

json json_of(const bisection::side& one) {
    return {{"path", one.path.string()},
            {"is_state", one.is_state},
            {"head", one.head},
            {"fault_count", one.fault_count},
            {"faults", one.faults}};
}

json row_or_null(const std::string& row) {
    return row.empty() ? json(nullptr) : json::parse(row);
}

std::string text_of(const bisection::object& one) {
    std::string text = fmt::format("  {} {}", one.type, one.id);
    if (one.a.empty() || one.b.empty()) {
        const char* const where = one.a.empty() ? "in b only" : "in a only";
        return text + fmt::format(": {}\n    {}\n", where, one.a.empty() ? one.b : one.a);
    }
    return text + fmt::format(": {}\n    a {}\n    b {}\n",
                              one.fields.empty() ? std::string("the same in both now")
                                                 : fmt::format("{}", fmt::join(one.fields, ", ")),
                              one.a, one.b);
}

std::string text_of(const char* name, const bisection::side& one) {
    if (one.fault_count == 0) return {};
    std::string text =
        fmt::format("{} has {} object(s) or node(s) that are not what its root says, "
                    "though no block changed them:\n",
                    name, one.fault_count);
    for (const std::string& fault : one.faults)
        text += "  " + fault + '\n';
    return text;
}

std::string blocks_in_words(const bisection& found) {
    if (!found.differs)
        return fmt::format("the roots of blocks {} to {} are the same\n", found.first_compared,
                           found.last_compared);
    const bisection::block& one = *found.differs;
    std::string text = fmt::format("block {} is the first one with another root\n"
                                   "  a {}\n  b {}\n  {}\n",
                                   one.number, hex(one.a.root), hex(one.b.root),
                                   one.has_same_writes()
                                       ? "it wrote the same in both: something else changed one of "
                                         "them before"
                                       : "it did not write the same in both");
    if (one.number == found.first_compared)
        text += "  no earlier one is kept by both: they may differ since longer\n";
    return text;
}

} // namespace

std::string to_json(const bisection& found) {
    json all{{"a", json_of(found.a)},
             {"b", json_of(found.b)},
             {"first_compared_block", found.first_compared},
             {"last_compared_block", found.last_compared},
             {"same", found.is_same()},
             {"differs", nullptr},
             {"different_objects", found.object_count},
             {"objects", json::array()}};
    if (found.differs)
        all["differs"] = {{"block", found.differs->number},
                          {"a", json_of(found.differs->a)},
                          {"b", json_of(found.differs->b)},
                          {"same_writes", found.differs->has_same_writes()}};
    for (const bisection::object& one : found.objects)
        all["objects"].push_back({{"type", one.type},
                                  {"id", one.id},
                                  {"fields", one.fields},
                                  {"a", row_or_null(one.a)},
                                  {"b", row_or_null(one.b)}});
    return all.dump();
}

std::string to_text(const bisection& found) {
    std::string text = blocks_in_words(found);
    text += text_of("a", found.a) + text_of("b", found.b);
    if (found.object_count != 0)
        text += fmt::format("{} object(s) differ now, after block {} in a and {} in b{}\n",
                            found.object_count, found.a.head, found.b.head,
                            found.objects.size() < found.object_count ? "; the first ones:" : ":");
    for (const bisection::object& one : found.objects)
        text += text_of(one);
    const bool are_beyond =
        found.differs && found.a.is_state && found.b.is_state &&
        (found.a.head > found.differs->number || found.b.head > found.differs->number);
    if (are_beyond)
        text +=
            fmt::format("to see what differed after block {} and nothing later, replay both logs "
                        "into new folders with --state-root and --stop-at {}, and call this "
                        "with them\n",
                        found.differs->number, found.differs->number);
    return text;
}

} // namespace chainbase::driver
