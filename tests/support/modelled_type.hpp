#pragma once

#include <chainbase/database.hpp>

#include <tests/support/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace chainbase::test {

/// FNV-1a over the logical content of objects.
class digest {
public:
    void add(std::string_view bytes) noexcept {
        add(bytes.size());
        for (const char c : bytes)
            value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100'0000'01B3U;
    }
    template <typename Number>
        requires std::is_integral_v<Number>
    void add(Number number) noexcept {
        value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x100'0000'01B3U;
        value_ ^= value_ >> 29;
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0xCBF2'9CE4'8422'2325U;
};

/// Parameters of random operations. Few failures make long epochs, in which most objects are logged
/// only once.
struct change_options {
    std::uint32_t objects = 40;    ///< per type: below this number most changes are creations
    std::uint32_t spread = 4;      ///< key values per object: the fewer, the more collisions
    std::uint32_t interrupts = 50; ///< calls per thousand whose function throws
    std::uint32_t modifies = 400;  ///< modifications per thousand changes, once there are enough
    std::function<void(std::string)> tell{}; ///< if set, called with each change before it is made
};

/// The result of a random operation.
enum class change_result { done, refused };

/// One object type of a database under random change, beside its naive model: copies of all
/// objects, copied again for every session. Changes are applied to both; differences throw
/// mismatch.
class modelled_type {
public:
    virtual ~modelled_type() = default;

    virtual void add_to(database& db) = 0;
    /// Takes the database's content as the model (after opening).
    virtual void read(const database& db) = 0;

    /// One random create, modify, remove or, rarely, clear; some are made to fail. Equal random
    /// numbers change equal states equally.
    virtual change_result change(database& db, random_source& random,
                                 const change_options& how) = 0;
    /// Creates objects until there are `how.objects`.
    virtual void fill(database& db, random_source& random, const change_options& how) = 0;
    /// Compares everything, by every key.
    virtual void check(const database& db, random_source& random) const = 0;
    /// Compares changes() since `revision` with the model of `level` sessions below the top.
    virtual void check_changes(const database& db, revision_number revision,
                               std::size_t level) const = 0;

    /// @name The model's sessions
    /// @{
    virtual void start() = 0;
    virtual void undo() = 0;
    virtual void squash() = 0;
    virtual void forget_oldest() = 0;
    /// @}

    /// The highest number of objects so far.
    [[nodiscard]] virtual std::size_t peak() const = 0;
    virtual void add_digest(digest& d) const = 0;
};

/// One of each sample type.
std::vector<std::unique_ptr<modelled_type>> all_sample_types();

} // namespace chainbase::test
