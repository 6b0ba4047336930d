#include <tools/driver/root/bisection.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace chainbase::driver {

namespace {

using json = nlohmann::ordered_json;

/// A path need not be UTF-8.
std::string dumped(const json& from) {
    return from.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <typename T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json json_of(const known_roots::entry& one) {
    return {{"root", hex(one.root)}, {"writes", hex(one.writes)}};
}

json json_of(const bisection::side& one) {
    json faults = json::array();
    for (const bisection::fault& each : one.faults)
        faults.push_back(
            {{"kind", each.kind}, {"type", each.type}, {"id", each.id}, {"what", each.what}});
    return {{"path", one.path.string()},
            {"is_state", one.is_state},
            {"head", one.head},
            {"objects_looked_at", or_null(one.objects)},
            {"pending", one.has_pending},
            {"fault_count", one.fault_count},
            {"faults", faults}};
}

json json_of(const bisection::block& one) {
    return {{"block", one.number},
            {"a", json_of(one.a)},
            {"b", json_of(one.b)},
            {"same_writes", or_null(one.has_same_writes())},
            {"same_again", or_null(one.same_again)}};
}

/// Rows are taken as they are: a tree of values could change their numbers.
std::string json_of(const bisection::object& one) {
    json fields = json::array();
    for (const bisection::object::field& each : one.fields)
        fields.push_back(each.name);
    std::string text = dumped(
        {{"type", one.type}, {"id", one.id}, {"fields", fields}, {"unreadable", one.unreadable}});
    text.back() = ',';
    const auto row = [](const std::string& of) { return of.empty() ? "null" : of; };
    return text + "\"a\":" + row(one.a) + ",\"b\":" + row(one.b) + '}';
}

std::string changes_of(const bisection::object& one) {
    std::string text;
    for (const bisection::object::field& each : one.fields)
        text += fmt::format("    {}: {} in a, {} in b\n", each.name, each.a, each.b);
    return text.empty() ? "    the same in both now\n" : text;
}

std::string text_of(const bisection::object& one) {
    const std::string name = fmt::format("  {} {}", one.type, one.id);
    std::string text = name + '\n';
    for (const std::string& problem : one.unreadable)
        text += "    cannot be read: " + problem + '\n';
    if (!one.unreadable.empty()) return text;
    if (!one.a.empty() && !one.b.empty()) return text + changes_of(one);
    if (one.a.empty() && one.b.empty()) return text + "    in neither of them\n";
    const bool is_in_b = one.a.empty();
    return fmt::format("{}, in {} only\n    {}\n", name, is_in_b ? "b" : "a",
                       is_in_b ? one.b : one.a);
}

std::string faults_of(const char* name, const bisection::side& one) {
    if (one.fault_count == 0) return {};
    std::string text =
        fmt::format("{}: {} fault(s), which no block made{}\n", name, one.fault_count,
                    one.faults.size() < one.fault_count ? "; the first ones:" : ":");
    for (const bisection::fault& each : one.faults)
        text += fmt::format("  {} {}: {}\n", each.type, each.id, each.what);
    return text;
}

std::string writes_in_words(const bisection::block& of) {
    const std::optional<bool> are_same = of.has_same_writes();
    if (!are_same) return "what it wrote is not known";
    if (!*are_same) return "it did not write the same in both";
    return of.same_again ? "it wrote the same in both"
                         : "it wrote the same in both: something else changed one of them before";
}

std::string blocks_in_words(const bisection& found) {
    if (!found.differs)
        return fmt::format("the roots of blocks {} to {} are the same\n", found.first_compared,
                           found.last_compared);
    const bisection::block& one = *found.differs;
    std::string text =
        fmt::format("block {} is the first one with another root\n  a {}\n  b {}\n  {}\n",
                    one.number, hex(one.a.root), hex(one.b.root), writes_in_words(one));
    if (one.number == found.first_compared)
        text += "  no earlier one is kept by both: they may differ since longer\n";
    if (one.same_again)
        text += fmt::format("  from block {} on they are the same again: the roots that were kept "
                            "are damaged, or the difference went away\n",
                            *one.same_again);
    return text;
}

std::string looked_at(const char* name, const bisection::side& one) {
    if (!one.is_state) return {};
    if (one.has_pending)
        return fmt::format("the objects of {} were not looked at one by one: transactions wait on "
                           "top of its last block\n",
                           name);
    if (!one.objects) return fmt::format("the objects of {} were not looked at one by one\n", name);
    return fmt::format("{} objects of {} were looked at one by one\n", *one.objects, name);
}

std::string objects_in_words(const bisection& found) {
    std::string text;
    if (found.object_count != 0)
        text += fmt::format("{} object(s) differ now, after block {} in a and {} in b{}\n",
                            found.object_count, found.a.head, found.b.head,
                            found.objects.size() < found.object_count ? "; some of them:" : ":");
    else if (!found.objects.empty())
        text += "in both:\n";
    for (const bisection::object& one : found.objects)
        text += text_of(one);
    return text;
}

/// How to see the difference alone, when blocks came after it.
std::string advice(const bisection& found) {
    if (!found.differs || !found.a.is_state || !found.b.is_state || found.differs->same_again)
        return {};
    const std::uint64_t number = found.differs->number;
    if (found.a.head <= number && found.b.head <= number) return {};
    return fmt::format("to see what blocks changed after block {} and nothing later, replay both "
                       "logs into new folders with --state-root and --stop-at {}, and call this "
                       "with them; what they do not show there no block changed\n",
                       number, number);
}

} // namespace

std::string to_json(const bisection& found) {
    std::string text = dumped({{"schema_version", 1},
                               {"a", json_of(found.a)},
                               {"b", json_of(found.b)},
                               {"first_compared_block", found.first_compared},
                               {"last_compared_block", found.last_compared},
                               {"same", !found.is_different() && !found.has_moved},
                               {"moved", found.has_moved},
                               {"differs", found.differs ? json_of(*found.differs) : json(nullptr)},
                               {"different_objects", found.object_count}});
    text.back() = ',';
    text += "\"objects\":[";
    for (const bisection::object& one : found.objects)
        text += fmt::format("{}{}", &one == found.objects.data() ? "" : ",", json_of(one));
    return text + "]}";
}

std::string to_text(const bisection& found) {
    std::string text = blocks_in_words(found) + faults_of("a", found.a) + faults_of("b", found.b) +
                       objects_in_words(found) + advice(found);
    if (!found.differs && found.object_count == 0)
        text += looked_at("a", found.a) + looked_at("b", found.b);
    if (found.has_moved && !found.a.has_pending && !found.b.has_pending)
        text += "a state changed each time that its objects were tried: stop its writer, or name a "
                "checkpoint (DIR@checkpoint)\n";
    return text;
}

} // namespace chainbase::driver
