#pragma once

#include <chainbase/offline/snapshot_file/loading.hpp>
#include <chainbase/offline/unfinished_state.hpp>

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

namespace chainbase::snapshot_file {

/// A state that is being made of a snapshot. After a kill, the same call goes on with the types
/// that were loaded whole.
///
/// Types of objects are whole when the state's newest checkpoint has them: nothing else says so, so
/// nothing can be ahead of storage. The state of a kill is not used, only that checkpoint. Types
/// whose rows of the archive are whole are listed in the notes beside the state:
///
///     {"format":1,"snapshot":"<its name>","options":"<SHA-256>","rows":["<type>",...]}
///
/// Another snapshot, other options, or a program of another format begins anew, and so does a
/// loading with functions that compute values: nobody knows whether they are the same ones.
class unfinished_load {
public:
    /// As the constructor of unfinished_state; logs what it goes on with, or why it does not.
    unfinished_load(const std::filesystem::path& state, const manifest& from,
                    const loading_options& how);

    [[nodiscard]] std::filesystem::path path() const { return made_.path(); }
    /// Whether a checkpoint is there to go on with.
    [[nodiscard]] bool is_continued() const noexcept { return !kept_types_.empty(); }
    /// Types that the checkpoint has.
    [[nodiscard]] const std::set<std::string>& kept_types() const noexcept { return kept_types_; }

    /// Removes what is there; `why` is logged if it is not empty. Throws io_error,
    /// out_of_space_error.
    void begin_anew(const std::string& why);
    /// Something is whole and on storage: from now on it stays for the next call.
    void keep() noexcept;
    /// Nothing stays.
    void give_up() noexcept { made_.keep(false); }
    [[nodiscard]] bool is_kept() const noexcept { return made_.is_kept(); }

    [[nodiscard]] bool has_rows(const std::string& type) const { return rows_.contains(type); }
    /// Requires that all rows of `type` are on storage. Throws io_error, out_of_space_error.
    void add_rows(const std::string& type);

    void finish() { made_.finish(); }

private:
    [[nodiscard]] std::string notes() const;
    [[nodiscard]] std::string why_not_continued();

    unfinished_state made_;
    std::string snapshot_;
    std::string options_; ///< empty: nobody knows whether those of two calls are the same
    std::set<std::string> kept_types_;
    std::set<std::string> rows_;
};

} // namespace chainbase::snapshot_file
