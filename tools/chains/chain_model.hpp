#pragma once

#include <archive/fwd.hpp>
#include <tools/block_log/block.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase {

class database;

/// What looking for every object of a state came to.
struct verification {
    std::uint64_t objects = 0; ///< looked for by id and by key
    std::uint64_t in_memory = 0;
    std::uint64_t in_archive = 0;
    std::uint64_t problem_count = 0;
    std::vector<std::string> problems; ///< the first ones, in words

    void report(std::string problem) {
        if (++problem_count <= 10) problems.push_back(std::move(problem));
    }
};

/// What a chain makes of its blocks: the rules, over objects in a database and a store.
///
/// A model holds no state of its own, not even counts: all of it is in the objects, so that undo,
/// reopening and kills keep it right. Used by the writer thread.
class chain_model {
public:
    using named_counts = std::vector<std::pair<std::string, std::int64_t>>;

    chain_model() = default;
    chain_model(const chain_model&) = delete;
    chain_model& operator=(const chain_model&) = delete;
    virtual ~chain_model() = default;

    /// Applies one block, as changes of the session under way. Throws rejected_error naming
    /// transaction, operation and rule when something in it is malformed or not allowed, and what
    /// the database and the store throw when the fault is theirs (see apply_operations): undo the
    /// session then.
    virtual void apply(const block& next) = 0;

    /// Takes up to `limit` finished objects whose end cannot be undone from memory to the archive,
    /// as changes of the session under way. Returns how many.
    virtual std::size_t hand_over(std::size_t limit) = 0;

    /// Objects of each type that left memory for the archive.
    [[nodiscard]] virtual named_counts archived() const = 0;

    /// The counts by which a replay is judged; chain's README.md says what each must be.
    [[nodiscard]] virtual named_counts oracle() const = 0;

    /// Throws damaged_error, with the figures, when an identity does not hold that holds after
    /// every block.
    virtual void check() const = 0;

    /// Looks for every object by id and by key, and compares the places with what they should be.
    [[nodiscard]] virtual verification verify() const = 0;

    /// SHA-256 over the content of all objects of the chain; see archive/state_digest.hpp.
    [[nodiscard]] virtual std::string state_digest() const = 0;
};

/// Throws usage_error naming the chains that have a model unless `chain` is one of them: to be
/// asked before a state is made for it.
void require_chain_model(std::string_view chain);

/// The model of the chain that a block log names, its types registered in `state`. Throws
/// usage_error for another chain, and what registering types and opening tables throws.
[[nodiscard]] std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                                            archive::store& rows);

} // namespace chainbase
