#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

/// A folder for the states of one test, in memory where possible, removed at the end.
class own_folder {
public:
    own_folder();
    ~own_folder();
    own_folder(const own_folder&) = delete;
    own_folder& operator=(const own_folder&) = delete;

    [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// What is below a folder: the content of each file, "/" for a folder.
using folder_content = std::map<std::string, std::string>;
[[nodiscard]] folder_content content_of(const std::filesystem::path& folder);
/// Makes the folder hold `content` again.
void restore(const std::filesystem::path& folder, const folder_content& content);

/// How a process ended that did one thing.
struct outcome {
    enum class kind { works, refused, wrong, crashed };
    kind how = kind::crashed;
    std::string said; ///< what the exception said, or which signal it was
};

/// Runs `work` in a process of its own: `refused` if it throws chainbase::error, `wrong` if it
/// throws anything else.
[[nodiscard]] outcome run_apart(const std::function<void()>& work);

/// Makes a state of 40 notes, the last 5 of them in a pushed session.
void make_closed(const std::filesystem::path& state);
/// The same, left by a writer that died within one more session, in which it changed every note.
void make_abandoned(const std::filesystem::path& state);
/// Opens the state for writing and compares all notes by id and by each key, undoes the pushed
/// session and compares again. Throws what opening throws; std::runtime_error for a difference.
void open_and_compare(const std::filesystem::path& state);
