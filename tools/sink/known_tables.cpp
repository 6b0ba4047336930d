#include <chainbase/segment/catalogue.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/sink/known_tables.hpp>
#include <tools/sink/placement.hpp>

#include <algorithm>

namespace chainbase::sink {

namespace {

/// The first field that is not the same: its records are other ones. Empty if there is none.
std::string first_other_field(const type_schema& a, const type_schema& b) {
    for (std::size_t i = 0; i < std::max(a.fields.size(), b.fields.size()); ++i) {
        if (i >= a.fields.size()) return b.fields[i].name;
        if (i >= b.fields.size()) return a.fields[i].name;
        const auto& one = a.fields[i];
        const auto& other = b.fields[i];
        if (one.name != other.name || one.type != other.type) return one.name;
    }
    return {};
}

/// Of what made_from() was: the types behind the line of the options.
catalogue types_of(const std::string& text, const std::string& database) {
    return catalogue_of(text.substr(text.find('\n') + 1), database);
}

} // namespace

known_tables::known_tables(const std::vector<std::string>& distribute,
                           const std::vector<std::string>& history)
    : history_(history.begin(), history.end()) {
    for (const std::string& one : distribute) {
        const std::size_t colon = one.find(':');
        if (colon == 0 || colon == std::string::npos || colon + 1 == one.size())
            throw usage_error("--distribute " + one + ": name a type and its field, as vote:voter");
        fields_[one.substr(0, colon)] = one.substr(colon + 1);
    }
}

std::vector<const table*> known_tables::take(const std::deque<type_schema>& types) {
    std::vector<const table*> added;
    for (std::size_t number = types_.size(); number < types.size(); ++number) {
        types_.push_back(types[number]);
        by_number_.push_back(nullptr);
        if (!has_table(types_.back().name)) continue;
        const table& made = tables_.emplace_back(types_.back());
        by_number_.back() = &made;
        added.push_back(&made);
        const auto field = fields_.find(made.type());
        if (field == fields_.end()) continue;
        const std::size_t by = made.column_called(field->second);
        if (!can_distribute(made.columns()[by]))
            throw usage_error("--distribute " + made.type() + ":" + field->second +
                              ": rows are distributed by a whole number of up to 63 bits, or by a "
                              "text");
        distribution_[&made] = by;
    }
    return added;
}

std::vector<const table*> known_tables::all() const {
    std::vector<const table*> all;
    for (const table& one : tables_)
        all.push_back(&one);
    return all;
}

std::size_t known_tables::distribution(const table& of) const {
    const auto found = distribution_.find(&of);
    return found == distribution_.end() ? 0 : found->second;
}

bool known_tables::has_removed(const table& of) const {
    return std::ranges::find(types_, of.type() + ".removed", &type_schema::name) != types_.end();
}

std::optional<known_tables::removal> known_tables::removal_by(std::uint32_t type) const {
    constexpr std::string_view suffix = ".removed";
    if (type >= types_.size() || !types_[type].name.ends_with(suffix)) return std::nullopt;
    const std::string of = types_[type].name.substr(0, types_[type].name.size() - suffix.size());
    const auto target = std::ranges::find(types_, of, &type_schema::name);
    if (target == types_.end()) return std::nullopt;
    std::size_t at = sizeof(std::uint32_t); // the fingerprint
    for (const type_schema::field& one : types_[type].fields) {
        if (one.name == "object" && one.bytes == sizeof(std::uint32_t))
            return removal{static_cast<std::uint32_t>(target - types_.begin()), at};
        at += one.bytes; // numbers: in a record as long as in memory
    }
    return std::nullopt;
}

void known_tables::require_named() const {
    std::set<std::string> named = history_;
    for (const auto& [type, field] : fields_)
        named.insert(type);
    named.erase("all");
    for (const std::string& type : named)
        if (std::ranges::find(tables_, type, &table::type) == tables_.end())
            throw usage_error("--history, --distribute: the state has no type '" + type +
                              "'; chainbase-inspect schema lists those there are");
}

std::string known_tables::options() const {
    std::string text = "--history";
    for (const std::string& type : history_)
        text += " " + type;
    text += " --distribute";
    for (const auto& [type, field] : fields_)
        text += " " + type + ":" + field;
    return text;
}

std::string known_tables::made_from() const {
    chainbase::catalogue all;
    for (const type_schema& one : types_)
        all.add({one, 0});
    return options() + "\n" + all.text();
}

std::vector<const table*> known_tables::made_in(const std::string& text,
                                                const std::string& database) const {
    const std::size_t types = types_of(text, database).entries().size();
    std::vector<const table*> all;
    for (std::size_t number = 0; number < std::min(types, by_number_.size()); ++number)
        if (by_number_[number]) all.push_back(by_number_[number]);
    return all;
}

void known_tables::require_same(const std::string& text, const std::string& database) const {
    const std::string made_with = text.substr(0, text.find('\n'));
    if (made_with != options())
        throw usage_error(database + ": its tables were made with " + made_with +
                          ", and not with " + options() +
                          "; give the same, or name another schema with --schema");
    const chainbase::catalogue made = types_of(text, database);
    const auto refuse = [&](const std::string& why) {
        throw usage_error(database + ": its tables were made from other types (" + why +
                          "); name another schema with --schema, or drop this one");
    };
    for (std::size_t number = 0; number < made.entries().size(); ++number) {
        const type_schema& there = made.entries()[number].schema;
        if (number >= types_.size()) refuse(there.name + " is not in the state");
        if (there.name != types_[number].name)
            refuse(there.name + " there, " + types_[number].name + " in the state");
        const std::string other = first_other_field(there, types_[number]);
        if (!other.empty()) refuse(there.name + ": field " + other);
    }
}

} // namespace chainbase::sink
