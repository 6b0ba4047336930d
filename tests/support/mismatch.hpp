#pragma once

#include <stdexcept>
#include <string>

namespace chainbase::test {

/// The engine and the model disagree.
class mismatch : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

inline void expect(bool holds, const char* what) {
    if (!holds) throw mismatch(what);
}
inline void expect(bool holds, const std::string& what) {
    if (!holds) throw mismatch(what);
}

/// What was said names what it is about.
inline void expect_names(const std::string& said, const std::string& what) {
    expect(said.find(what) != std::string::npos, "does not name " + what + ": " + said);
}

} // namespace chainbase::test
