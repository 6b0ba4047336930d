#include <sys/stat.h>

/// Folders of a state are for their owner alone.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    umask(077);
    return 0;
}
