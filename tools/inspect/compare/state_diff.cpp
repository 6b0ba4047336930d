#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/handed_over.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/compare/state_diff.hpp>
#include <tools/inspect/rows/merged_rows.hpp>
#include <tools/inspect/state/bookkeeping.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace chainbase::inspect {

namespace {

/// The rows of a type by id; or none, if there is no such type.
class row_stream {
public:
    using row = merged_rows::row;

    row_stream(row_source& from, const std::string& type, const archive::store* archive) {
        bool is_there = false;
        from.take_turn([&] {
            for (const type_schema* schema : from.types())
                is_there = is_there || schema->name == type;
        });
        if (is_there) rows_.emplace(from, row_query{type, "id", {}, {}, {}, false}, archive);
    }

    [[nodiscard]] bool has_type() const noexcept { return rows_.has_value(); }
    [[nodiscard]] std::vector<std::string> fields() const {
        return rows_ ? rows_->names() : std::vector<std::string>();
    }
    /// The next one, null behind the last.
    [[nodiscard]] const row* next() { return rows_ ? rows_->next() : nullptr; }
    void pop() { rows_->pop(); }

private:
    std::optional<merged_rows> rows_;
};

/// A state, and its archive if that is asked for and there.
struct side {
    side(row_source& state, bool has_archive)
        : from(state), archive(has_archive ? open_whole_archive(state) : nullptr) {}

    row_source& from;
    std::unique_ptr<archive::store> archive;
};

/// Compares two streams of one type.
class type_comparison {
public:
    type_comparison(const side& a, const side& b, const std::string& type,
                    const state_diff::question& asked, std::vector<state_diff::row>& to)
        : a_(a.from, type, a.archive.get()), b_(b.from, type, b.archive.get()), asked_(asked),
          to_(to) {
        found_.name = type;
        found_.is_in_a = a_.has_type();
        found_.is_in_b = b_.has_type();
        match_fields();
    }

    state_diff::type run() {
        for (;;) {
            const row_stream::row* const a = a_.next();
            const row_stream::row* const b = b_.next();
            if (!a && !b) return std::move(found_);
            const bool takes_a = a && (!b || a->id <= b->id);
            const bool takes_b = b && (!a || b->id <= a->id);
            found_.rows_a += takes_a ? 1 : 0;
            found_.rows_b += takes_b ? 1 : 0;
            compare(takes_a ? a : nullptr, takes_b ? b : nullptr);
            if (takes_a) a_.pop();
            if (takes_b) b_.pop();
        }
    }

private:
    struct pair_of_fields {
        std::string name;
        std::size_t a;
        std::size_t b;
    };

    [[nodiscard]] bool is_ignored(const std::string& field) const {
        return asked_.ignored.contains(field) || asked_.ignored.contains(found_.name + "." + field);
    }

    void match_fields() {
        const auto a = a_.fields();
        const auto b = b_.fields();
        for (std::size_t i = 0; i < a.size(); ++i) {
            const auto other = std::find(b.begin(), b.end(), a[i]);
            if (is_ignored(a[i])) continue;
            if (other != b.end())
                fields_.push_back({a[i], i, static_cast<std::size_t>(other - b.begin())});
            else if (!b.empty())
                found_.fields_of_one.push_back(a[i]);
        }
        for (const std::string& field : b)
            if (!a.empty() && !is_ignored(field) && std::find(a.begin(), a.end(), field) == a.end())
                found_.fields_of_one.push_back(field);
    }

    void compare(const row_stream::row* a, const row_stream::row* b) {
        std::vector<std::string> fields;
        if (!a || !b) {
            ++(a ? found_.only_a : found_.only_b);
        } else {
            for (const pair_of_fields& field : fields_)
                if (a->cells[field.a] != b->cells[field.b]) fields.push_back(field.name);
            if (fields.empty()) return;
            ++found_.changed;
        }
        for (const std::string& field : fields)
            ++found_.fields[field];
        if (asked_.rows_limit != 0 && kept_++ >= asked_.rows_limit) return;
        to_.push_back({found_.name, a ? a->id : b->id, a ? a->json : "", b ? b->json : "",
                       std::move(fields), a && a->is_archived, b && b->is_archived});
    }

    row_stream a_;
    row_stream b_;
    const state_diff::question& asked_;
    std::vector<state_diff::row>& to_;
    state_diff::type found_;
    std::vector<pair_of_fields> fields_;
    std::uint64_t kept_ = 0;
};

/// With or without those of a state root.
std::set<std::string> names_in(row_source& from, bool has_root) {
    std::set<std::string> names;
    from.take_turn([&] {
        for (const type_schema* schema : from.types())
            if (has_root || !is_of_root(*schema)) names.insert(schema->name);
    });
    return names;
}

} // namespace

bool state_diff::type::is_same() const noexcept {
    return is_in_a == is_in_b && only_a == 0 && only_b == 0 && changed == 0 &&
           fields_of_one.empty();
}

bool state_diff::is_same() const noexcept {
    return std::all_of(types.begin(), types.end(), [](const type& one) { return one.is_same(); });
}

state_diff state_diff::of(row_source& a, row_source& b, const question& asked) {
    state_diff found;
    found.revision_a = a.current_revision();
    found.revision_b = b.current_revision();
    std::set<std::string> names = names_in(a, !asked.types.empty());
    names.merge(names_in(b, !asked.types.empty()));
    for (const std::string& name : asked.types)
        if (!names.contains(name))
            throw usage_error("neither " + a.state().string() + " nor " + b.state().string() +
                              " has a type \"" + name + "\"");
    if (!asked.types.empty()) names = {asked.types.begin(), asked.types.end()};
    const side in_a(a, asked.has_archive);
    const side in_b(b, asked.has_archive);
    auto handed_over_a = objects_handed_over(a);
    auto handed_over_b = objects_handed_over(b);
    for (const std::string& name : names) {
        found.types.push_back(type_comparison(in_a, in_b, name, asked, found.rows).run());
        found.types.back().handed_over_a = handed_over_a[name];
        found.types.back().handed_over_b = handed_over_b[name];
    }
    return found;
}

} // namespace chainbase::inspect
