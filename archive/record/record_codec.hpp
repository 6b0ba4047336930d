#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/integers.hpp>
#include <archive/record/packed_sequence.hpp>
#include <chainbase/id.hpp>
#include <chainbase/key_value.hpp>
#include <pool_allocator/base/error.hpp>

#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

/// How each kind of field is laid out in a record. A codec has:
///   layout(sink)            the type's name in the layout text
///   fixed, fixed_size       whether all values take the same number of bytes, and how many
///   size(value)             the bytes this value takes
///   write(to, value)        writes them, returns the place after them
///   read(reader, value, path), skip(reader, path), view(reader, path)
namespace chainbase::archive::detail {

// --- a position in a record ----------------------------------------------------------------------

/// Where in a record a value stands, as a chain on the stack: costs two pointers per field and is
/// read only when something is wrong.
struct field_path {
    const field_path* outer;
    const char* name;
};

/// A position in a record's bytes that cannot leave them.
class record_reader {
public:
    record_reader(bytes_view record, const std::type_info& type, std::size_t at) noexcept
        : record_(record), type_(&type), at_(at) {}

    /// Returns the next `count` bytes and steps over them; throws damaged_error when fewer are
    /// left.
    const std::byte* take(std::size_t count, const field_path& path) {
        if (count > left()) fail_short(path, count);
        const std::byte* from = record_.data() + at_;
        at_ += count;
        return from;
    }

    template <integer V>
    V take_integer(const field_path& path) {
        return load_little<V>(take(sizeof(V), path));
    }

    [[nodiscard]] std::size_t left() const noexcept { return record_.size() - at_; }
    [[nodiscard]] std::size_t position() const noexcept { return at_; }
    [[nodiscard]] bytes_view record() const noexcept { return record_; }

    /// Throws damaged_error with type, field, offset and reason.
    [[noreturn]] void fail(const field_path& path, const std::string& reason) const;

private:
    [[noreturn]] void fail_short(const field_path& path, std::size_t count) const;

    bytes_view record_;
    const std::type_info* type_;
    std::size_t at_;
};

/// Throws schema_error: the record was written with another layout than `layout`.
[[noreturn]] void fail_schema(const std::type_info& type, std::uint32_t found,
                              std::uint32_t expected, const std::string& layout);

/// Throws limit_error: a text or sequence has more elements than 32 bits can count.
[[noreturn]] void fail_length(std::size_t size);

// --- which kind a type is ------------------------------------------------------------------------

enum class field_kind { integer, boolean, enumeration, identity, text, array, sequence, structure };

template <typename V>
inline constexpr bool is_id = false;
template <typename T>
inline constexpr bool is_id<id<T>> = true;

using chainbase::detail::is_fixed_bytes;
using chainbase::detail::is_std_array;

template <typename V>
concept text =
    std::convertible_to<const V&, std::string_view> && std::is_assignable_v<V&, std::string_view>;

template <typename V>
using element_of = std::remove_cvref_t<decltype(*std::declval<const V&>().data())>;

template <typename V>
concept span_assignable = std::is_assignable_v<V&, std::span<const element_of<V>>>;

template <typename V>
concept range_assignable = requires(V& value, const element_of<V>* at) { value.assign(at, at); };

template <typename V>
concept sequence = requires(const V& value) {
    { value.size() } -> std::convertible_to<std::size_t>;
} && (span_assignable<V> || range_assignable<V>);

enum class no_kind {};

/// The kind of V, or no_kind when a record cannot hold it. The order matters: a string is a
/// sequence too, and an id may be described.
template <typename V>
constexpr auto kind_of() {
    if constexpr (std::is_same_v<V, bool>)
        return field_kind::boolean;
    else if constexpr (integer<V>)
        return field_kind::integer;
    else if constexpr (std::is_enum_v<V>)
        return field_kind::enumeration;
    else if constexpr (is_id<V>)
        return field_kind::identity;
    else if constexpr (text<V>)
        return field_kind::text;
    else if constexpr (is_std_array<V> || is_fixed_bytes<V>)
        return field_kind::array;
    else if constexpr (boost::describe::has_describe_members<V>::value)
        return field_kind::structure;
    else if constexpr (sequence<V>)
        return field_kind::sequence;
    else
        return no_kind{};
}

template <typename V>
inline constexpr bool is_structure = [] {
    if constexpr (std::is_same_v<decltype(kind_of<V>()), field_kind>)
        return kind_of<V>() == field_kind::structure;
    return false;
}();

template <typename V, auto Kind = kind_of<V>()>
struct codec {
    static_assert(!std::is_same_v<decltype(Kind), no_kind>,
                  "a record cannot hold a field of this type: it holds integers, bool, enums, ids, "
                  "text, std::array, sequences and structs described with Boost.Describe");
};

// --- the layout's text ---------------------------------------------------------------------------

struct text_sink {
    std::string text;
    void put(std::string_view part) { text += part; }
};

struct hash_sink {
    std::uint32_t hash = 2166136261u;
    constexpr void put(std::string_view part) {
        for (char c : part)
            hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    }
};

template <typename Sink>
constexpr void put_number(Sink& out, std::size_t number) {
    char digits[20] = {};
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    out.put({digits + at, sizeof digits - at});
}

// --- values of fixed size ------------------------------------------------------------------------

template <integer V>
struct codec<V, field_kind::integer> {
    static constexpr bool fixed = true;
    static constexpr std::size_t fixed_size = sizeof(V);

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        // The sign of plain char differs between machines; its byte does not.
        if constexpr (std::is_same_v<V, char>) return out.put("char");
        out.put(is_signed<V> ? "i" : "u");
        put_number(out, 8 * sizeof(V));
    }
    static std::size_t size(V) { return sizeof(V); }
    static std::byte* write(std::byte* to, V value) { return store_little(to, value); }
    static void read(record_reader& from, V& value, const field_path& path) {
        value = from.take_integer<V>(path);
    }
    static void skip(record_reader& from, const field_path& path) { from.take(sizeof(V), path); }
    static V view(record_reader& from, const field_path& path) {
        return from.take_integer<V>(path);
    }
};

/// A type that is stored as the number `Bits` beneath it: bool, enums and ids.
template <typename V, typename Bits>
struct number_codec {
    static constexpr bool fixed = true;
    static constexpr std::size_t fixed_size = sizeof(Bits);

    static std::size_t size(const V&) { return sizeof(Bits); }
    static void skip(record_reader& from, const field_path& path) { from.take(sizeof(Bits), path); }
};

template <>
struct codec<bool, field_kind::boolean> : number_codec<bool, std::uint8_t> {
    template <typename Sink>
    static constexpr void layout(Sink& out) {
        out.put("bool");
    }
    static std::byte* write(std::byte* to, bool value) {
        return store_little<std::uint8_t>(to, value ? 1 : 0);
    }
    static bool view(record_reader& from, const field_path& path) {
        const auto bits = from.take_integer<std::uint8_t>(path);
        if (bits > 1) from.fail(path, "a bool of " + std::to_string(bits));
        return bits == 1;
    }
    static void read(record_reader& from, bool& value, const field_path& path) {
        value = view(from, path);
    }
};

template <typename V>
struct codec<V, field_kind::enumeration> : number_codec<V, std::underlying_type_t<V>> {
    using bits = std::underlying_type_t<V>;

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        out.put("enum ");
        codec<bits>::layout(out);
    }
    static std::byte* write(std::byte* to, V value) {
        return codec<bits>::write(to, static_cast<bits>(value));
    }
    static V view(record_reader& from, const field_path& path) {
        return static_cast<V>(codec<bits>::view(from, path));
    }
    static void read(record_reader& from, V& value, const field_path& path) {
        value = view(from, path);
    }
};

template <typename V>
struct codec<V, field_kind::identity> : number_codec<V, std::uint32_t> {
    template <typename Sink>
    static constexpr void layout(Sink& out) {
        out.put("id");
    }
    static std::byte* write(std::byte* to, V value) { return store_little(to, value.value); }
    static V view(record_reader& from, const field_path& path) {
        return V(from.take_integer<std::uint32_t>(path));
    }
    static void read(record_reader& from, V& value, const field_path& path) {
        value = view(from, path);
    }
};

// --- values with a length ------------------------------------------------------------------------

inline std::byte* write_length(std::byte* to, std::size_t length) {
    return store_little(to, static_cast<std::uint32_t>(length));
}

inline std::size_t checked_length(std::size_t length) {
    if (length > UINT32_MAX) fail_length(length);
    return length;
}

inline std::byte* write_bytes(std::byte* to, const void* from, std::size_t count) {
    if (count != 0) std::memcpy(to, from, count);
    return to + count;
}

template <typename V>
struct codec<V, field_kind::text> {
    static constexpr bool fixed = false;
    static constexpr std::size_t fixed_size = 0;

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        out.put("text");
        if constexpr (requires { std::integral_constant<std::size_t, V::capacity>{}; }) {
            out.put("<");
            put_number(out, V::capacity);
            out.put(">");
        }
    }
    static std::size_t size(const V& value) {
        return sizeof(std::uint32_t) + checked_length(std::string_view(value).size());
    }
    static std::byte* write(std::byte* to, const V& value) {
        const std::string_view text = value;
        return write_bytes(write_length(to, text.size()), text.data(), text.size());
    }
    static std::string_view view(record_reader& from, const field_path& path) {
        const auto length = from.take_integer<std::uint32_t>(path);
        return {reinterpret_cast<const char*>(from.take(length, path)), length};
    }
    static void read(record_reader& from, V& value, const field_path& path) {
        const std::string_view text = view(from, path);
        try {
            value = text;
        } catch (const usage_error& refused) {
            from.fail(path, refused.what());
        }
    }
    static void skip(record_reader& from, const field_path& path) { view(from, path); }
};

/// Elements that stand in a record exactly as they do in memory, whatever the machine.
template <typename E>
concept byte_like = sizeof(E) == 1 && !std::is_same_v<E, bool> && (integer<E> || std::is_enum_v<E>);

template <typename V>
struct codec<V, field_kind::sequence> {
    using element = element_of<V>;
    using element_codec = codec<element>;
    static_assert(!element_codec::fixed || element_codec::fixed_size > 0,
                  "the elements of a sequence take at least a byte");

    static constexpr bool fixed = false;
    static constexpr std::size_t fixed_size = 0;

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        out.put("[");
        element_codec::layout(out);
        out.put("]");
    }
    static std::size_t size(const V& value) {
        std::size_t bytes = sizeof(std::uint32_t);
        if constexpr (element_codec::fixed)
            bytes += checked_length(value.size()) * element_codec::fixed_size;
        else
            for (std::size_t i = 0; i < checked_length(value.size()); ++i)
                bytes += element_codec::size(value.data()[i]);
        return bytes;
    }
    static std::byte* write(std::byte* to, const V& value) {
        to = write_length(to, value.size());
        const element* from = value.data();
        if constexpr (byte_like<element>) return write_bytes(to, from, value.size());
        for (std::size_t i = 0; i < value.size(); ++i)
            to = element_codec::write(to, from[i]);
        return to;
    }
    static auto view(record_reader& from, const field_path& path) {
        const std::size_t count = from.take_integer<std::uint32_t>(path);
        if constexpr (!element_codec::fixed) {
            const auto elements = read_all(from, count, path);
            return std::vector<element>(elements.get(), elements.get() + count);
        } else {
            const std::byte* at = from.take(count * element_codec::fixed_size, path);
            if constexpr (byte_like<element>)
                return std::span<const element>(reinterpret_cast<const element*>(at), count);
            else
                return packed_sequence<element>(
                    {at, count * element_codec::fixed_size}, element_codec::fixed_size,
                    [](const std::byte* place) { return read_element(place); });
        }
    }
    static void read(record_reader& from, V& value, const field_path& path) {
        if constexpr (byte_like<element>) {
            assign(value, view(from, path));
        } else {
            const std::size_t count = from.take_integer<std::uint32_t>(path);
            const auto elements = read_all(from, count, path);
            assign(value, std::span<const element>(elements.get(), count));
        }
    }
    static void skip(record_reader& from, const field_path& path) {
        const std::size_t count = from.take_integer<std::uint32_t>(path);
        skip_elements(from, count, path);
    }

private:
    static void skip_elements(record_reader& from, std::size_t count, const field_path& path) {
        if constexpr (element_codec::fixed)
            from.take(count * element_codec::fixed_size, path);
        else
            for (std::size_t i = 0; i < count; ++i)
                element_codec::skip(from, path);
    }
    static std::unique_ptr<element[]> read_all(record_reader& from, std::size_t count,
                                               const field_path& path) {
        constexpr std::size_t least = element_codec::fixed ? element_codec::fixed_size : 1;
        if (count > from.left() / least) from.take(count * least, path); // which throws
        auto elements = std::make_unique<element[]>(count);
        for (std::size_t i = 0; i < count; ++i)
            element_codec::read(from, elements[i], path);
        return elements;
    }
    static void assign(V& value, std::span<const element> elements) {
        if constexpr (span_assignable<V>)
            value = elements;
        else
            value.assign(elements.data(), elements.data() + elements.size());
    }
    static element read_element(const std::byte* place) {
        record_reader reader({place, element_codec::fixed_size}, typeid(element), 0);
        element value{};
        element_codec::read(reader, value, {nullptr, "(element)"});
        return value;
    }
};

// --- values of several fields --------------------------------------------------------------------

template <typename E, std::size_t N>
struct codec<std::array<E, N>, field_kind::array> {
    using element_codec = codec<E>;
    static constexpr bool fixed = element_codec::fixed;
    static constexpr std::size_t fixed_size = N * element_codec::fixed_size;

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        out.put("[");
        element_codec::layout(out);
        out.put(";");
        put_number(out, N);
        out.put("]");
    }
    static std::size_t size(const std::array<E, N>& value) {
        if constexpr (fixed) return fixed_size;
        std::size_t total = 0;
        for (const E& element : value)
            total += element_codec::size(element);
        return total;
    }
    static std::byte* write(std::byte* to, const std::array<E, N>& value) {
        for (const E& element : value)
            to = element_codec::write(to, element);
        return to;
    }
    static void read(record_reader& from, std::array<E, N>& value, const field_path& path) {
        for (E& element : value)
            element_codec::read(from, element, path);
    }
    static std::array<E, N> view(record_reader& from, const field_path& path) {
        std::array<E, N> value{};
        read(from, value, path);
        return value;
    }
    static void skip(record_reader& from, const field_path& path) {
        for (std::size_t i = 0; i < N; ++i)
            element_codec::skip(from, path);
    }
};

/// As a std::array of so many std::uint8_t.
template <std::size_t N>
struct codec<fixed_bytes<N>, field_kind::array> {
    static constexpr bool fixed = true;
    static constexpr std::size_t fixed_size = N;

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        codec<std::array<std::uint8_t, N>>::layout(out);
    }
    static std::size_t size(const fixed_bytes<N>&) { return N; }
    static std::byte* write(std::byte* to, const fixed_bytes<N>& value) {
        return write_bytes(to, value.data(), N);
    }
    static fixed_bytes<N> view(record_reader& from, const field_path& path) {
        return fixed_bytes<N>(std::span<const std::byte>(from.take(N, path), N));
    }
    static void read(record_reader& from, fixed_bytes<N>& value, const field_path& path) {
        value = view(from, path);
    }
    static void skip(record_reader& from, const field_path& path) { from.take(N, path); }
};

template <typename T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                            boost::describe::mod_inherited>;

template <typename T>
inline constexpr std::size_t member_count = boost::mp11::mp_size<members_of<T>>::value;

template <typename T, typename Descriptor>
using member_type = std::remove_cvref_t<decltype(std::declval<T&>().*Descriptor::pointer)>;

template <typename T, typename Descriptor>
using member_codec = codec<member_type<T, Descriptor>>;

/// Calls `function(descriptor)` for each described member, in the order of description.
template <typename T, typename Function>
constexpr void for_each_member(Function&& function) {
    boost::mp11::mp_for_each<members_of<T>>(function);
}

template <typename T>
struct codec<T, field_kind::structure> {
    static constexpr bool fixed = [] {
        bool all = true;
        for_each_member<T>([&](auto d) { all = all && member_codec<T, decltype(d)>::fixed; });
        return all;
    }();
    static constexpr std::size_t fixed_size = [] {
        std::size_t total = 0;
        for_each_member<T>([&](auto d) { total += member_codec<T, decltype(d)>::fixed_size; });
        return fixed ? total : 0;
    }();

    template <typename Sink>
    static constexpr void layout(Sink& out) {
        const char* separator = "{";
        for_each_member<T>([&](auto d) {
            out.put(separator);
            out.put(d.name);
            out.put(":");
            member_codec<T, decltype(d)>::layout(out);
            separator = ",";
        });
        out.put(member_count<T> == 0 ? "{}" : "}");
    }
    static std::size_t size(const T& object) {
        if constexpr (fixed) return fixed_size;
        std::size_t total = 0;
        for_each_member<T>(
            [&](auto d) { total += member_codec<T, decltype(d)>::size(object.*d.pointer); });
        return total;
    }
    static std::byte* write(std::byte* to, const T& object) {
        for_each_member<T>(
            [&](auto d) { to = member_codec<T, decltype(d)>::write(to, object.*d.pointer); });
        return to;
    }
    static void read(record_reader& from, T& object, const field_path& path) {
        for_each_member<T>([&](auto d) {
            member_codec<T, decltype(d)>::read(from, object.*d.pointer, {&path, d.name});
        });
    }
    static void skip(record_reader& from, const field_path& path) {
        for_each_member<T>(
            [&](auto d) { member_codec<T, decltype(d)>::skip(from, {&path, d.name}); });
    }
};

// --- one member, or the fingerprint, of a record -------------------------------------------------

template <auto Member, typename Descriptor>
constexpr bool is_member() {
    using pointer = std::remove_cv_t<decltype(Descriptor::pointer)>;
    if constexpr (std::is_same_v<decltype(Member), pointer>) return Descriptor::pointer == Member;
    return false;
}

/// The place of a member in the description; member_count when it is not described.
template <typename T, auto Member>
inline constexpr std::size_t member_index = [] {
    std::size_t index = member_count<T>;
    std::size_t at = 0;
    for_each_member<T>([&](auto d) {
        if (is_member<Member, decltype(d)>()) index = at;
        ++at;
    });
    return index;
}();

/// Views the Index-th member after stepping over those before it.
template <typename T, std::size_t Index, template <typename> typename StructView>
auto view_member(record_reader& from) {
    using members = members_of<T>;
    boost::mp11::mp_for_each<boost::mp11::mp_take_c<members, Index>>(
        [&](auto d) { member_codec<T, decltype(d)>::skip(from, {nullptr, d.name}); });
    using descriptor = boost::mp11::mp_at_c<members, Index>;
    using value = member_type<T, descriptor>;
    if constexpr (is_structure<value>)
        return StructView<value>(from.record(), from.position());
    else
        return codec<value>::view(from, {nullptr, descriptor::name});
}

/// Returns the place after the fingerprint.
template <typename T>
std::size_t check_fingerprint(bytes_view record, std::uint32_t expected) {
    record_reader reader(record, typeid(T), 0);
    const auto found = reader.take_integer<std::uint32_t>({nullptr, "(fingerprint)"});
    if (found == expected) return reader.position();
    text_sink layout;
    codec<T>::layout(layout);
    fail_schema(typeid(T), found, expected, layout.text);
}

} // namespace chainbase::archive::detail
