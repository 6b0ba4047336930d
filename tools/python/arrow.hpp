#pragma once

#include <tools/python/table.hpp>

#include <cstdint>
#include <memory>

// The Arrow C data and stream interfaces, whose structs every implementation declares itself:
// arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    std::int64_t flags;
    std::int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    std::int64_t length;
    std::int64_t null_count;
    std::int64_t offset;
    std::int64_t n_buffers;
    std::int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
    const char* (*get_last_error)(struct ArrowArrayStream*);
    void (*release)(struct ArrowArrayStream*);
    void* private_data;
};
#endif
}

namespace chainbase::python {

/// How texts are told to Arrow.
enum class arrow_texts {
    utf8,  ///< as large_utf8: one that is no UTF-8 ends the stream with an error
    binary ///< as large_binary
};

/// Makes `out` a stream of record batches of at most `rows` rows, which takes `from`. No batch is
/// read before it is asked for; none of its functions takes the GIL. What a call throws is
/// get_last_error() of the stream.
void export_stream(std::unique_ptr<column_stream> from, arrow_texts texts, std::size_t rows,
                   ArrowArrayStream* out);

} // namespace chainbase::python
