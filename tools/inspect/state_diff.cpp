#include <pool_allocator/error.hpp>
#include <tools/inspect/row_format.hpp>
#include <tools/inspect/row_scan.hpp>
#include <tools/inspect/state_diff.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

namespace chainbase::inspect {

namespace {

/// The rows of a type by id, read ahead in turns; or none, if there is no such type.
class row_stream {
public:
    struct row {
        std::uint32_t id;
        std::string json;
        std::vector<std::string> cells;
    };

    row_stream(row_source& from, std::string type) : from_(from), type_(std::move(type)) {
        from_.take_turn([&] {
            for (const type_schema* schema : from_.types())
                if (schema->name == type_) format_.emplace(*schema);
        });
    }

    [[nodiscard]] bool has_type() const noexcept { return format_.has_value(); }
    [[nodiscard]] std::vector<std::string> fields() const {
        return format_ ? format_->names() : std::vector<std::string>();
    }
    /// The next one, null behind the last.
    [[nodiscard]] const row* next() {
        if (ahead_.empty() && format_) read_ahead();
        return ahead_.empty() ? nullptr : &ahead_.front();
    }
    void pop() { ahead_.pop_front(); }

private:
    void read_ahead() {
        constexpr std::size_t at_once = 256;
        if (is_at_end_) return;
        rows::id_cursor cursor(next_id_);
        scan(from_, type_, cursor, [&](const rows::type_rows& of, slot_number slot) {
            const std::byte* const object = of.slots().value(slot);
            row& one = ahead_.emplace_back();
            one.id = of.slots().id(slot);
            format_->append_json(one.json, object, of.buffers());
            one.cells = format_->cells(object, of.buffers());
            return ahead_.size() < at_once;
        });
        is_at_end_ = ahead_.empty() || ahead_.back().id == UINT32_MAX;
        if (!ahead_.empty()) next_id_ = ahead_.back().id + 1;
    }

    row_source& from_;
    std::string type_;
    std::optional<row_format> format_;
    std::deque<row> ahead_;
    std::uint32_t next_id_ = 0;
    bool is_at_end_ = false;
};

/// Compares two streams of one type.
class type_comparison {
public:
    type_comparison(row_source& a, row_source& b, const std::string& type,
                    const state_diff::question& asked, std::vector<state_diff::row>& to)
        : a_(a, type), b_(b, type), asked_(asked), to_(to) {
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
                       std::move(fields)});
    }

    row_stream a_;
    row_stream b_;
    const state_diff::question& asked_;
    std::vector<state_diff::row>& to_;
    state_diff::type found_;
    std::vector<pair_of_fields> fields_;
    std::uint64_t kept_ = 0;
};

std::set<std::string> names_in(row_source& from) {
    std::set<std::string> names;
    from.take_turn([&] {
        for (const type_schema* schema : from.types())
            names.insert(schema->name);
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
    std::set<std::string> names = names_in(a);
    names.merge(names_in(b));
    for (const std::string& name : asked.types)
        if (!names.contains(name))
            throw usage_error("neither " + a.state().string() + " nor " + b.state().string() +
                              " has a type \"" + name + "\"");
    if (!asked.types.empty()) names = {asked.types.begin(), asked.types.end()};
    for (const std::string& name : names)
        found.types.push_back(type_comparison(a, b, name, asked, found.rows).run());
    return found;
}

} // namespace chainbase::inspect
