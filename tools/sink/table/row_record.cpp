#include <archive/record/described_record.hpp>
#include <archive/record/integers.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/sink/table/layout.hpp>
#include <tools/sink/table/table.hpp>
#include <tools/sink/table/text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <utility>

namespace chainbase::sink {

using archive::byte_buffer;
using archive::bytes_view;
using rows::value_type;

/// The record's bytes of a field from its JSON: an object of this field alone is made of it.
class row_record::json_field {
public:
    json_field(const std::string& type, const value_type::member& field)
        : name_(field.name), schema_(schema_of(type, field)), reader_(schema_), record_(schema_) {}

    /// Throws usage_error.
    void append(std::string_view json, byte_buffer& to) {
        nlohmann::json parsed = inspect::exact_json(json);
        if (parsed.is_discarded()) throw usage_error("it is no JSON");
        nlohmann::json object = nlohmann::json::object();
        object[name_] = std::move(parsed);
        bytes_.clear();
        record_.append(reader_.read(object), reader_, bytes_);
        archive::append(to, bytes_view(bytes_).subspan(sizeof record_.fingerprint()));
    }

private:
    const std::string name_;
    const type_schema schema_;
    inspect::row_reader reader_;
    archive::described_record record_;
    byte_buffer bytes_;
};

/// Appends the values of a row to a record.
struct row_record::writer {
    explicit writer(const table& the_table) : of(the_table), fields(of.columns_.size()) {}

    bytes_view make(std::span<const value> values) {
        row = values;
        number = 0;
        record.clear();
        append_length(of.fingerprint_);
        if (row.size() != of.columns_.size())
            throw damaged_error(fmt::format("table {}: a row has {} values for {} columns",
                                            of.name_, row.size(), of.columns_.size()));
        for (const value_type::member& leaf : of.leaves_) {
            append_leaf(leaf);
            ++number;
        }
        return record;
    }

    void append_leaf(const value_type::member& leaf) {
        const value& one = row[number];
        switch (of.columns_[number].kind) {
        case column_kind::text:
            return append_text(leaf.type);
        case column_kind::bytes:
            return append_bytes(leaf.type, one);
        case column_kind::list:
            if (one.what == value::kind::text) return append_json(leaf, one);
            return append_list(leaf.type, one);
        case column_kind::json:
            require(one.what == value::kind::text, "JSON");
            return append_json(leaf, one);
        default:
            append_scalar(leaf.type, one);
        }
    }

    void append_scalar(const value_type& type, const value& one) {
        switch (type.what) {
        case value_type::kind::boolean:
            require(one.what == value::kind::boolean && one.magnitude <= 1, "a bool");
            record.push_back(std::byte(static_cast<std::uint8_t>(one.magnitude)));
            break;
        case value_type::kind::number:
            append_number(type, one);
            break;
        default:
            append_real(type, one);
        }
    }

    void append_number(const value_type& type, const value& one) {
        require(one.what == value::kind::integer, "an integer");
        const unsigned bits = 8 * type.bytes - (type.is_signed ? 1 : 0);
        const unsigned __int128 most = ~static_cast<unsigned __int128>(0) >> (128 - bits);
        const bool fits = !one.is_negative     ? one.magnitude <= most
                          : one.magnitude == 0 ? true
                          : type.is_signed     ? one.magnitude - 1 <= most
                                               : false;
        require(fits, name_of(type).c_str());
        const unsigned __int128 all = one.is_negative ? -one.magnitude : one.magnitude;
        for (std::uint32_t i = 0; i < type.bytes; ++i)
            record.push_back(static_cast<std::byte>(all >> (8 * i)));
    }

    void append_real(const value_type& type, const value& one) {
        require(one.what == value::kind::real, "a real number");
        if (type.bytes == sizeof(double))
            return append_integer(std::bit_cast<std::uint64_t>(one.real));
        const std::uint32_t bits = narrowed(one.real);
        const bool is_same =
            std::bit_cast<std::uint64_t>(widened(bits)) == std::bit_cast<std::uint64_t>(one.real);
        require(is_same, "a real number of 32 bits");
        append_integer(bits);
    }

    void append_text(const value_type& type) {
        const value& text = row[number];
        const value& exact = row[++number];
        require(text.what == value::kind::text, "a text", number - 1);
        std::string_view content = text.text;
        if (exact.what == value::kind::null) {
            require(is_sql_text(content), "a text", number - 1);
        } else {
            require(exact.what == value::kind::bytes, "bytes, or NULL");
            content = archive::as_text(exact.bytes);
            require(!is_sql_text(content) && sql_text(content) == text.text,
                    "what its text stands for");
        }
        if (type.what == value_type::kind::fixed_text)
            require(content.size() <= type.bytes, "a text that fits");
        require(content.size() <= UINT32_MAX, "a text that fits");
        append_length(static_cast<std::uint32_t>(content.size()));
        archive::append(record, archive::as_bytes(content));
    }

    void append_bytes(const value_type& type, const value& one) {
        require(one.what == value::kind::bytes, "bytes");
        const bool is_vector = type.what == value_type::kind::vector;
        const std::size_t most = !is_vector                  ? type.bytes
                                 : type.element().bytes == 0 ? 0
                                                             : UINT32_MAX;
        require(is_vector ? one.bytes.size() <= most : one.bytes.size() == most, "so many bytes");
        if (is_vector) append_length(static_cast<std::uint32_t>(one.bytes.size()));
        archive::append(record, one.bytes);
    }

    void append_list(const value_type& type, const value& one) {
        require(one.what == value::kind::list && one.count <= one.elements.size(), "a list");
        if (type.what == value_type::kind::vector)
            append_length(static_cast<std::uint32_t>(one.count));
        else
            require(one.count == type.count(), "a list of so many");
        for (std::size_t i = 0; i < one.count; ++i)
            append_scalar(type.element(), one.elements[i]);
    }

    void append_json(const value_type::member& leaf, const value& one) {
        auto& field = fields[number];
        if (!field) field = std::make_unique<json_field>(of.type_, leaf);
        try {
            field->append(one.text, record);
        } catch (const usage_error& problem) {
            fail(number, problem.what());
        }
    }

    void append_length(std::uint32_t length) { append_integer(length); }
    template <typename Integer>
    void append_integer(Integer value) {
        const std::size_t at = record.size();
        record.resize(at + sizeof value);
        archive::detail::store_little(record.data() + at, value);
    }

    void require(bool is_met, const char* wanted) const { require(is_met, wanted, number); }
    void require(bool is_met, const char* wanted, std::size_t at) const {
        if (!is_met) fail(at, fmt::format("its value is not {}", wanted));
    }
    [[noreturn]] void fail(std::size_t at, const std::string& why) const {
        const std::string id =
            row[0].what == value::kind::integer ? row[0].digits() : std::string("?");
        throw damaged_error(fmt::format("table {}, row {}, column {}: {}; it was changed by others "
                                        "than the sink: begin anew with --bootstrap again",
                                        of.name_, id, of.columns_[at].name, why));
    }

    const table& of;
    std::vector<std::unique_ptr<json_field>> fields; ///< those of JSON that were met
    std::span<const value> row;
    std::size_t number = 0; ///< of the column
    byte_buffer record;
};

row_record::row_record(const table& of) : writer_(std::make_unique<writer>(of)) {}
row_record::~row_record() = default;
row_record::row_record(row_record&&) noexcept = default;

bytes_view row_record::make(std::span<const value> row) {
    return writer_->make(row);
}

} // namespace chainbase::sink
