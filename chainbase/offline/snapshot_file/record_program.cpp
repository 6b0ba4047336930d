#include <chainbase/offline/snapshot_file/record_program.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::snapshot_file::detail {

namespace {

using element_kind = rows::value_type::kind;

class step_compiler {
public:
    explicit step_compiler(record_program& to) : all_(to) {}

    /// Appends the steps of a value. `match` is null for a value that is stepped over; else
    /// `offset` is the place of the new value.
    void add(record_steps& to, const layout_value& from, const value_match* match,
             std::uint32_t offset) {
        switch (from.what) {
        case element_kind::structure:
            return add_members(to, from, match, offset);
        case element_kind::vector:
        case element_kind::array:
            return add_sequence(to, from, match, offset);
        case element_kind::text:
        case element_kind::fixed_text:
            return add_text(to, from, match, offset);
        default:
            return add_single(to, from, match, offset);
        }
    }

private:
    void add_members(record_steps& to, const layout_value& from, const value_match* match,
                     std::uint32_t offset) {
        std::vector<const value_match*> of(from.parts.size());
        if (match)
            for (const value_match& one : match->parts)
                if (one.from && one.to)
                    of[static_cast<std::size_t>(one.from - from.parts.data())] = &one;
        for (std::size_t i = 0; i < of.size(); ++i)
            add(to, from.parts[i], of[i], of[i] ? offset + of[i]->to->offset : nowhere);
    }

    void add_single(record_steps& to, const layout_value& from, const value_match* match,
                    std::uint32_t offset) {
        const bool is_alike = !match || match->to->what == element_kind::opaque ||
                              from.what == element_kind::opaque ||
                              (match->to->what == from.what && match->to->bytes == from.bytes &&
                               match->to->is_signed == from.is_signed);
        if (is_alike) return add_run(to, from, from.bytes, offset);
        record_step one = step(step_kind::integer, from, offset);
        if (from.what == element_kind::floating) one.what = step_kind::floating;
        one.to_bytes = match->to->bytes;
        one.is_signed = from.is_signed;
        one.to_signed = match->to->is_signed;
        one.is_bool = from.what == element_kind::boolean;
        one.to_bool = match->to->what == element_kind::boolean;
        to.push_back(one);
    }

    void add_text(record_steps& to, const layout_value& from, const value_match* match,
                  std::uint32_t offset) {
        record_step one = step(step_kind::skip_text, from, offset);
        one.is_fixed = from.what == element_kind::fixed_text;
        if (match && match->to->what == element_kind::text) one.what = step_kind::text;
        if (match && match->to->what == element_kind::fixed_text) {
            one.what = step_kind::fixed;
            one.to_bytes = match->to->bytes;
        }
        to.push_back(one);
    }

    /// Bytes of `from`, or of elements like it, that are the same in record and object. Extends the
    /// run before when they follow each other in the object, too.
    void add_run(record_steps& to, const layout_value& from, std::uint32_t bytes,
                 std::uint32_t offset) {
        if (bytes == 0) return;
        const auto what = offset == nowhere ? step_kind::skip : step_kind::copy;
        const bool follows =
            !to.empty() && to.back().what == what &&
            (offset == nowhere ? std::uint64_t{to.back().bytes} + bytes < nowhere
                               : std::uint64_t{to.back().to} + to.back().bytes == offset);
        if (!follows) {
            to.push_back(step(what, from, offset));
            to.back().bytes = 0;
        } else {
            all_.values[to.back().values].all.push_back({to.back().bytes, from.path});
        }
        if (consists_of_bools(from)) {
            all_.values[to.back().values].of_bools.push_back({to.back().bytes, bytes});
            to.back().has_bools = true;
        }
        to.back().bytes += bytes;
    }

    void add_sequence(record_steps& to, const layout_value& from, const value_match* match,
                      std::uint32_t offset) {
        auto made = std::make_unique<element_steps>();
        const layout_value& element = from.element();
        made->least = element.least;
        made->from_bytes = element.bytes;
        made->to_bytes = match ? match->to->element().bytes : 0;
        made->has_length = from.what == element_kind::vector;
        made->is_in_buffer = match && match->to->what == element_kind::vector;
        if (!made->has_length) made->count = from.count();
        made->kept = made->is_in_buffer ? made->count : match ? match->to->count() : 0;
        add(made->each, element, match ? &match->parts.front() : nullptr, match ? 0 : nowhere);
        const bool has_rest = match && made->count > made->kept;
        if (has_rest) add(made->rest, element, nullptr, nowhere);
        const bool is_run = is_one_run(*made, match != nullptr);
        made->is_alike = is_run && !made->each.front().has_bools;
        const bool has_place_in_object = !made->has_length && !made->is_in_buffer && !has_rest;
        if (has_place_in_object && is_run && (made->is_alike || consists_of_bools(element)))
            return add_run(to, from, from.bytes, offset);
        record_step one = step(step_kind::sequence, from, offset);
        one.of = made.get();
        all_.elements.push_back(std::move(made));
        to.push_back(one);
    }

    /// Whether an element is the same bytes in record and memory.
    static bool is_one_run(const element_steps& of, bool has_place) {
        if (of.each.size() != 1 || of.each.front().bytes != of.from_bytes) return false;
        const record_step& one = of.each.front();
        return has_place ? one.what == step_kind::copy && one.to == 0 && one.bytes == of.to_bytes
                         : one.what == step_kind::skip;
    }
    static bool consists_of_bools(const layout_value& one) {
        return one.what == element_kind::boolean ||
               (one.what == element_kind::array && consists_of_bools(one.element()));
    }

    record_step step(step_kind what, const layout_value& from, std::uint32_t offset) {
        record_step made{what, offset, from.bytes};
        made.values = static_cast<std::uint32_t>(all_.values.size());
        all_.values.push_back({{{0, from.path}}, {}});
        return made;
    }

    record_program& all_;
};

} // namespace

record_program compiled(const layout_match& match) {
    record_program made;
    step_compiler(made).add(made.object, *match.object().from, &match.object(), 0);
    return made;
}

} // namespace chainbase::snapshot_file::detail
