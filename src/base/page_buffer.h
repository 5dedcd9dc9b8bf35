// Zeroed memory straight from the kernel, for the large arrays that a thread allocates once at start-up.
#pragma once

#include <cstddef>
#include <span>

namespace rain {

/// Owns an anonymous mapping: zeroed, page-aligned, touched lazily, backed by huge pages where the kernel
/// grants them.
class PageBuffer {
 public:
  PageBuffer() = default;
  /// Throws std::bad_alloc. `size_bytes` 0 gives an empty buffer.
  explicit PageBuffer(std::size_t size_bytes);
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  ~PageBuffer();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_{};
};

}  // namespace rain
