#include <tools/sink/postgres/row_arrays.hpp>
#include <tools/sink/table/ddl.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chainbase::sink::postgres {

row_arrays::way row_arrays::way_of(const column& of) {
    if (of.kind == column_kind::json) return way::text;
    if (of.kind != column_kind::list) return way::itself;
    return width_of(of.of) == 0 ? way::text : way::pieces;
}

row_arrays::row_arrays(const table& of, const std::vector<std::string>& numbers) : of_(of) {
    for (const column& one : of.columns()) {
        places_.push_back(arrays_.size());
        switch (way_of(one)) {
        case way::itself:
            arrays_.emplace_back(one.kind);
            break;
        case way::text:
            arrays_.emplace_back(column_kind::text);
            break;
        case way::pieces: // the elements, and of each row the first and the last
            arrays_.emplace_back(one.of);
            arrays_.emplace_back(column_kind::big);
            arrays_.emplace_back(column_kind::big);
        }
    }
    places_.push_back(arrays_.size());
    arrays_.resize(arrays_.size() + numbers.size(), array_parameter(column_kind::big));
    make_select(numbers);
}

/// Arrays have the numbers of their parameters; elements of lists are not among those of rows.
void row_arrays::make_select(const std::vector<std::string>& numbers) {
    std::vector<std::string> values;
    std::vector<std::string> arrays;
    std::vector<std::string> names;
    const auto unnest = [&](std::size_t number, std::string_view type) {
        arrays.push_back(fmt::format("${}::{}[]", number + 1, type));
        names.push_back(fmt::format("p{}", number + 1));
        return "r." + names.back();
    };
    for (std::size_t at = 0; at < of_.columns().size(); ++at) {
        const column& one = of_.columns()[at];
        const std::size_t place = places_[at];
        switch (way_of(one)) {
        case way::itself:
            values.push_back(unnest(place, postgres_type(one.kind)));
            break;
        case way::text:
            values.push_back(fmt::format("{}::{}", unnest(place, "text"),
                                         one.kind == column_kind::json
                                             ? "json"
                                             : fmt::format("{}[]", postgres_type(one.of))));
            break;
        case way::pieces: {
            const std::string first = unnest(place + 1, "int8");
            const std::string last = unnest(place + 2, "int8");
            values.push_back(fmt::format("(${}::{}[])[{}::int4:{}::int4]", place + 1,
                                         postgres_type(one.of), first, last));
        }
        }
    }
    for (std::size_t at = 0; at < numbers.size(); ++at)
        values.push_back(unnest(places_.back() + at, "int8"));
    select_ = fmt::format("SELECT {} FROM unnest({}) AS r({})", fmt::join(values, ", "),
                          fmt::join(arrays, ", "), fmt::join(names, ", "));
}

void row_arrays::clear() {
    for (array_parameter& one : arrays_)
        one.clear();
    rows_ = 0;
}

void row_arrays::add(std::span<const value> row,
                     std::span<const std::optional<std::int64_t>> numbers) {
    for (std::size_t at = 0; at < row.size(); ++at) {
        const column& one = of_.columns()[at];
        array_parameter* const to = &arrays_[places_[at]];
        switch (way_of(one)) {
        case way::itself:
            to->add(row[at]);
            break;
        case way::text:
            if (one.kind == column_kind::json)
                to->add(row[at]);
            else
                to->add_text(text_of_list(one.of, row[at]));
            break;
        case way::pieces:
            to[1].add_number(static_cast<std::int64_t>(to->count()) + 1);
            to->add_elements(row[at]);
            to[2].add_number(static_cast<std::int64_t>(to->count()));
        }
    }
    for (std::size_t at = 0; at < numbers.size(); ++at) {
        array_parameter& to = arrays_[places_.back() + at];
        if (numbers[at])
            to.add_number(*numbers[at]);
        else
            to.add_null();
    }
    ++rows_;
}

std::size_t row_arrays::bytes() const noexcept {
    std::size_t all = 0;
    for (const array_parameter& one : arrays_)
        all += one.size();
    return all;
}

std::vector<parameter> row_arrays::parameters() {
    std::vector<parameter> all;
    for (array_parameter& one : arrays_)
        all.push_back({one.type(), one.bytes()});
    return all;
}

} // namespace chainbase::sink::postgres
