// Compiles Boost.JSON, so that no library has to be linked. In a source of its own: where a program
// links its own copy, the linker leaves this one out.
#include <boost/json/src.hpp>
