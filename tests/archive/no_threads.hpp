#pragma once

#include <pthread.h>

#include <cstddef>

namespace chainbase::test {

/// No thread can be started while it lives: each asks for a stack that no address space has.
class no_threads {
public:
    no_threads() noexcept {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        ::pthread_attr_init(&huge);
        ::pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
        ::pthread_setattr_default_np(&huge);
        ::pthread_attr_destroy(&huge);
    }
    ~no_threads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;

private:
    pthread_attr_t before_;
};

} // namespace chainbase::test
