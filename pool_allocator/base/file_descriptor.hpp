#pragma once

#include <unistd.h>

#include <utility>

namespace chainbase {

/// An open file, closed with the object.
class file_descriptor {
public:
    explicit file_descriptor(int number) noexcept : number_(number) {}
    file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    file_descriptor& operator=(file_descriptor&&) = delete;
    ~file_descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    /// The kernel's number; negative if opening failed.
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_;
};

} // namespace chainbase
