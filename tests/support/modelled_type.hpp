#pragma once

#include <chainbase/database.hpp>

#include <tests/support/digest.hpp>
#include <tests/support/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace chainbase::test {

/// How random operations go. Few failures make long epochs, in which most is logged once only.
struct habits {
    std::uint32_t objects = 40;    ///< per type: as long as there are fewer, most are creations
    std::uint32_t spread = 4;      ///< key values per object: the fewer, the more collisions
    std::uint32_t interrupts = 50; ///< calls per thousand whose function throws
    std::uint32_t modifies = 400;  ///< modifications per thousand changes, once there are enough
};

/// What a random operation did.
enum class change_result { done, refused };

/// One object type of a database under random change, beside its naive model: copies of all
/// objects, copied again for every session. Changes are told to both; whatever differs throws
/// mismatch.
class modelled_type {
public:
    virtual ~modelled_type() = default;

    virtual void add_to(database& db) = 0;
    /// Takes what the database holds as the model (after opening).
    virtual void read(const database& db) = 0;

    /// One random create, modify, remove or, seldom, clear; some are made to fail. The same random
    /// numbers do the same to the same state.
    virtual change_result change(database& db, random_source& random, const habits& how) = 0;
    /// Creates objects until there are `how.objects`.
    virtual void fill(database& db, random_source& random, const habits& how) = 0;
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

    /// The most objects that there were at a time.
    [[nodiscard]] virtual std::size_t peak() const = 0;
    virtual void add_digest(digest& d) const = 0;
};

template <typename T>
std::unique_ptr<modelled_type> model_of();

/// One of each sample type.
std::vector<std::unique_ptr<modelled_type>> all_sample_types();

} // namespace chainbase::test
