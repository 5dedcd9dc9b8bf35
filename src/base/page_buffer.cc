#include "base/page_buffer.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace rain {

PageBuffer::PageBuffer(std::size_t size_bytes) {
  if (size_bytes == 0) return;
  void* memory =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, size_bytes, MADV_HUGEPAGE);  // a hint: where it is refused, small pages do
  bytes_ = {static_cast<std::byte*>(memory), size_bytes};
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

PageBuffer::~PageBuffer() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace rain
