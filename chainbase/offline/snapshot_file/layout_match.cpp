#include <chainbase/offline/snapshot_file/layout_match.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace chainbase::snapshot_file {

namespace {

using value_kind = rows::value_type::kind;
using change_kind = field_change::kind;

constexpr std::uint32_t bytes_of_length = sizeof(std::uint32_t);

std::uint64_t least_of(const layout_value& one) {
    switch (one.what) {
    case value_kind::fixed_text:
    case value_kind::text:
    case value_kind::vector:
        return bytes_of_length;
    case value_kind::array:
        return one.count() * one.element().least;
    case value_kind::structure: {
        std::uint64_t all = 0;
        for (const layout_value& part : one.parts)
            all += part.least;
        return all;
    }
    default:
        return one.bytes;
    }
}

layout_value layout_of(const rows::value_type& type, std::string name, std::string path,
                       std::uint32_t offset) {
    layout_value made{std::move(name),
                      std::move(path),
                      rows::name_of(type),
                      type.what,
                      type.is_signed,
                      type.bytes,
                      offset,
                      0,
                      {}};
    for (const rows::value_type::member& one : type.members)
        made.parts.push_back(layout_of(one.type, one.name,
                                       made.is_sequence() ? made.path : made.path + "." + one.name,
                                       one.offset));
    made.least = least_of(made);
    return made;
}

/// The object as a struct of its fields.
layout_value layout_of(const type_schema& schema) {
    rows::require_sound_layout(schema);
    layout_value all;
    all.bytes = schema.value_bytes;
    for (const type_schema::field& one : schema.fields) {
        const auto type = rows::value_type::of(one, schema.value_bytes);
        all.parts.push_back(layout_of(type, one.name, one.name, one.offset));
        all.parts.back().type = one.type;
    }
    const bool has_id = !all.parts.empty() && all.parts.front().what == value_kind::number &&
                        all.parts.front().bytes == sizeof(std::uint32_t) &&
                        !all.parts.front().is_signed && all.parts.front().offset == 0;
    if (!has_id) throw damaged_error(schema.name + ": the first field is not the object's id");
    return all;
}

/// Of a value, whose parts change like this. Members that are added, dropped or renamed are listed
/// themselves.
change_kind change_of_whole(change_kind part) {
    const bool is_its_own =
        part == change_kind::renamed || part == change_kind::added || part == change_kind::dropped;
    return is_its_own ? change_kind::widened : part;
}

/// Kinds are declared in this order, but for added and dropped, which have no other.
change_kind worse(change_kind a, change_kind b) {
    return std::max(a, b);
}

bool is_integer(const layout_value& one) {
    return one.what == value_kind::number || one.what == value_kind::boolean;
}

change_kind change_of_integer(const layout_value& from, const layout_value& to) {
    if (to.what == value_kind::boolean)
        return from.what == value_kind::boolean ? change_kind::same : change_kind::narrowed;
    if (from.what == value_kind::boolean) return change_kind::widened;
    if (from.is_signed == to.is_signed && from.bytes == to.bytes)
        return from.type == to.type ? change_kind::same : change_kind::widened; // an id
    const bool has_all = to.bytes > from.bytes && (to.is_signed || !from.is_signed);
    return has_all ? change_kind::widened : change_kind::narrowed;
}

change_kind change_of_length(std::uint64_t from, std::uint64_t to) {
    if (from == to) return change_kind::same;
    return from < to ? change_kind::widened : change_kind::narrowed;
}

/// Whether one is 128 bits under their older name, and the other as many bytes.
bool are_old_and_new_name(const layout_value& one, const layout_value& other) {
    return one.type == "bytes<16>" && other.what == value_kind::number && other.bytes == one.bytes;
}

/// Of values that are neither structs nor sequences.
change_kind change_of_single(const layout_value& from, const layout_value& to) {
    if (is_integer(from) && is_integer(to)) return change_of_integer(from, to);
    if (are_old_and_new_name(from, to) || are_old_and_new_name(to, from)) return change_kind::same;
    if (from.what == value_kind::fixed_text && to.what == value_kind::text)
        return change_kind::widened;
    if (from.what == value_kind::text && to.what == value_kind::fixed_text)
        return change_kind::narrowed;
    if (from.what != to.what) return change_kind::impossible;
    if (from.what == value_kind::opaque && (from.type != to.type || from.bytes != to.bytes))
        return change_kind::impossible;
    return change_of_length(from.bytes, to.bytes);
}

class layout_matcher {
public:
    explicit layout_matcher(const migration_rules& rules) : rules_(rules) {}

    value_match pair(const layout_value& from, const layout_value& to) {
        value_match made{&from, &to, change_kind::same};
        if (from.is_sequence() && to.is_sequence()) {
            pair_elements(made);
        } else if (from.what == value_kind::structure && to.what == value_kind::structure) {
            pair_members(made);
        } else {
            made.what = change_of_single(from, to);
        }
        return made;
    }

    [[nodiscard]] bool has_followed(const std::string& renamed) const {
        return followed_.contains(renamed);
    }

private:
    void pair_elements(value_match& of) {
        const bool is_vector = of.to->what == value_kind::vector;
        if (of.from->what == of.to->what)
            of.what =
                is_vector ? change_kind::same : change_of_length(of.from->count(), of.to->count());
        else
            of.what = is_vector ? change_kind::widened : change_kind::impossible;
        of.parts.push_back(pair(of.from->element(), of.to->element()));
        of.what = worse(of.what, of.parts.front().what);
    }

    void pair_members(value_match& of) {
        std::multimap<std::string_view, const layout_value*> old; // without a match yet
        for (const layout_value& one : of.from->parts)
            old.emplace(one.name, &one);
        std::vector<const layout_value*> sources;
        std::set<const layout_value*> used;
        for (const layout_value& one : of.to->parts)
            sources.push_back(renamed_to(one, old));
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const layout_value& to = of.to->parts[i];
            if (!sources[i]) sources[i] = take(to.name, old);
            of.parts.push_back(member(sources[i], to));
            used.insert(of.parts.back().from);
        }
        for (const layout_value& one : of.from->parts)
            if (!used.contains(&one)) of.parts.push_back({&one, nullptr, change_kind::dropped});
        for (const value_match& one : of.parts)
            of.what = worse(of.what, change_of_whole(one.what));
    }

    value_match member(const layout_value* from, const layout_value& to) {
        if (!from) return {nullptr, &to, change_kind::added};
        value_match made = pair(*from, to);
        if (made.what == change_kind::impossible && rules_.dropped.contains(from->path))
            return {nullptr, &to, change_kind::added};
        if (from->name != to.name) made.what = worse(made.what, change_kind::renamed);
        return made;
    }

    /// The first of that name; takes it out of `old`.
    static const layout_value* take(std::string_view name,
                                    std::multimap<std::string_view, const layout_value*>& old) {
        const auto found = old.lower_bound(name);
        if (found == old.end() || found->first != name) return nullptr;
        const layout_value* const taken = found->second;
        old.erase(found);
        return taken;
    }

    const layout_value* renamed_to(const layout_value& to,
                                   std::multimap<std::string_view, const layout_value*>& old) {
        const auto rule = rules_.renamed.find(to.path);
        if (rule == rules_.renamed.end() || has_name_already(to, old)) return nullptr;
        const auto found = std::ranges::find_if(
            old, [&](const auto& one) { return one.second->path == rule->second; });
        if (found == old.end()) return nullptr;
        const layout_value* const taken = found->second;
        old.erase(found);
        followed_.insert(to.path);
        return taken;
    }

    /// Whether the old layout has this field itself, and neither loses it nor renames it.
    [[nodiscard]] bool
    has_name_already(const layout_value& to,
                     const std::multimap<std::string_view, const layout_value*>& old) const {
        const auto found = old.find(to.name);
        return rules_.may_not_apply && found != old.end() &&
               !rules_.dropped.contains(found->second->path) &&
               std::ranges::none_of(rules_.renamed, [&](const auto& one) {
                   return one.second == found->second->path;
               });
    }

    const migration_rules& rules_;
    std::set<std::string> followed_; ///< new paths that were renamed
};

/// Lists the parts of a struct, or of the structs in a sequence, in the order of the new layout;
/// those that are dropped go into a list of their own.
void list_changes(const value_match& of, bool with_same, std::vector<field_change>& all,
                  std::vector<field_change>& dropped) {
    const bool is_struct = of.from && of.from->what == value_kind::structure;
    for (const value_match& one : of.parts) {
        if (!one.to) {
            dropped.push_back({one.what, one.from->path, one.from->type, {}});
        } else if (is_struct && (with_same || one.what != change_kind::same)) {
            std::string was;
            if (one.from)
                was = (one.from->name == one.to->name ? "" : one.from->name + " ") + one.from->type;
            all.push_back({one.what, one.to->path, std::move(was), one.to->type});
        }
        list_changes(one, false, all, dropped);
    }
}

bool has_path(const layout_value& in, const std::string& path) {
    return std::ranges::any_of(
        in.parts, [&](const layout_value& one) { return one.path == path || has_path(one, path); });
}

bool is_impossible(const field_change& one) {
    return one.what == change_kind::impossible;
}

std::string objection_to_field(const field_change& one, const std::vector<field_change>& all,
                               const migration_rules& rules) {
    const bool is_by_itself =
        is_impossible(one) && std::ranges::none_of(all, [&](const auto& other) {
            return is_impossible(other) && other.field.starts_with(one.field + ".");
        });
    if (is_by_itself)
        return fmt::format("{} cannot become {} from {}: name it as dropped, then it begins with "
                           "its default",
                           one.field, one.now, one.was);
    if (one.what == change_kind::dropped && !rules.dropped.contains(one.field))
        return fmt::format("{} of type {} would be lost: name it as dropped, or what it is renamed "
                           "to",
                           one.field, one.was);
    return {};
}

std::string objections_to(const value_match& object, const layout_matcher& matcher,
                          const migration_rules& rules) {
    std::string found;
    const auto add = [&](const std::string& one) {
        found += found.empty() || one.empty() ? one : "; " + one;
    };
    std::vector<field_change> changes;
    list_changes(object, true, changes, changes);
    for (const field_change& one : changes)
        add(objection_to_field(one, changes, rules));
    const auto is_of_another_age = [&](const std::string& to, const std::string& from) {
        return has_path(*object.to, to) &&
               (!has_path(*object.from, from) || has_path(*object.from, to));
    };
    for (const auto& [to, from] : rules.renamed)
        if (!matcher.has_followed(to) && !(rules.may_not_apply && is_of_another_age(to, from)))
            add(fmt::format("{} cannot be what {} was: one of them is no field, or in another "
                            "struct, or was renamed already",
                            to, from));
    for (const std::string& one : rules.dropped)
        if (!rules.may_not_apply && !has_path(*object.from, one))
            add(one + ", which may be dropped, is no field of the old layout");
    if (object.parts.front().from != object.from->parts.data())
        add("the id cannot be another field");
    return found;
}

} // namespace

layout_match::layout_match(const type_schema& from, const type_schema& to,
                           const migration_rules& rules)
    : from_(layout_of(from)), to_(layout_of(to)) {
    layout_matcher matcher(rules);
    object_ = matcher.pair(from_, to_);
    objections_ = objections_to(object_, matcher, rules);
}

std::vector<field_change> layout_match::changes() const {
    std::vector<field_change> all;
    std::vector<field_change> dropped;
    list_changes(object_, true, all, dropped);
    all.insert(all.end(), dropped.begin(), dropped.end());
    return all;
}

} // namespace chainbase::snapshot_file
