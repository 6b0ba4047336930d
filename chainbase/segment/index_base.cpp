#include <chainbase/fixed_string.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/segment/index_base.hpp>
#include <chainbase/segment/segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/json.hpp>
#include <undo/undo_log.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <iterator>
#include <span>
#include <string>

/// The type-independent parts of the object headers, compiled once.
namespace chainbase {

index_base::index_base(undo_log* log, const type_windows& type) : name_(type.name), log_(log) {
    if (log_) log_->expect_root();
}

void index_base::initialise_unlogged(segment& state, void (*build)(void*), void* with) {
    state.initialise_unlogged(build, with);
}

void index_base::throw_not_found(std::uint32_t id) const {
    throw not_found_error(name_ + ": there is no object " + std::to_string(id));
}

void index_base::throw_not_found(const std::string& key, const std::string& value) const {
    throw not_found_error(name_ + ": there is no object with " + key + " " + value);
}

void index_base::throw_read_only() const {
    throw usage_error(name_ + ": the state is open read-only; open it for writing");
}

void index_base::throw_foreign() const {
    throw usage_error(name_ + ": the object passed is not one of this database (a copy, or "
                              "removed); pass what find, get or create returned");
}

void index_base::throw_no_ids() const {
    throw limit_error(name_ + ": all 2^32 - 1 ids were given; the type needs a new name");
}

void index_base::throw_id_initialised(std::uint32_t from, std::uint32_t to) const {
    throw usage_error(name_ + ": the initialiser changed the id from " + std::to_string(from) +
                      " to " + std::to_string(to));
}

void index_base::throw_id_taken(std::uint32_t id) const {
    throw usage_error(name_ + ": object " + std::to_string(id) + " is there already");
}

void index_base::throw_id_modified(std::uint32_t id) const {
    throw usage_error(name_ + ": the modifier changed the id of object " + std::to_string(id));
}

void index_base::throw_taken(const std::string& key, const std::string& value,
                             std::uint32_t by) const {
    throw duplicate_key_error(name_ + ": " + key + " " + value + " is taken by object " +
                              std::to_string(by));
}

void index_base::throw_taken() const {
    throw duplicate_key_error(name_ + ": a unique key is taken");
}

void index_base::throw_bad_link(const char* what, slot_number slot) const {
    throw damaged_error(name_ + ": " + what + " leads to slot " + std::to_string(slot) +
                        ", which is not an object of it; run chainbase-inspect check");
}

void index_base::throw_endless_tree() const {
    throw damaged_error(name_ + ": the links of an ordered key lead down further than any tree is "
                                "high; run chainbase-inspect check");
}

void index_base::throw_other_key(const std::string& key, const std::string& wanted,
                                 const std::string& given) const {
    throw usage_error(name_ + ": get_or_create was called with " + key + " " + wanted +
                      ", and the initialiser made an object with " + given);
}

std::uint64_t detail::hash_of_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string detail::text_of_integer(wide_unsigned value) {
    std::string digits;
    do {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
        value /= 10;
    } while (value != 0);
    return digits;
}

std::string detail::text_of_integer(wide_integer value) {
    const auto bits = static_cast<wide_unsigned>(value);
    return value < 0 ? "-" + text_of_integer(-bits) : text_of_integer(bits);
}

std::string detail::text_of_float(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, std::end(digits), value).ptr};
}

std::string detail::quoted_text(std::string_view value) {
    return to_json(value);
}

void detail::throw_no_fit(std::string_view text, std::size_t capacity) {
    std::string shown;
    for (const char c : text.substr(0, 100)) // a zero byte would end the message
        shown += static_cast<unsigned char>(c) < ' '
                     ? "\\x" + to_hex(std::as_bytes(std::span(&c, 1)))
                     : std::string(1, c);
    throw usage_error("fixed_string<" + std::to_string(capacity) + ">: \"" + shown +
                      (text.size() > 100 ? "...\"" : "\"") + " of " + std::to_string(text.size()) +
                      " bytes does not fit: at most " + std::to_string(capacity) +
                      " bytes, none of them zero");
}

void detail::throw_no_bound(const std::string& bound) {
    throw usage_error("the bound " + bound +
                      " is beyond what the key's parts can hold; search for a value of their "
                      "types");
}

} // namespace chainbase
