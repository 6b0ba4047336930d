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

} // namespace chainbase::test
