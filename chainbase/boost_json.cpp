// Boost.JSON itself, so that no library has to be linked. Alone: where a program brings its own,
// the linker leaves this one out.
#include <boost/json/src.hpp>
