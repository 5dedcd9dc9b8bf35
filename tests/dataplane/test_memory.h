// A SoftMemory with storage of its own, for tests: exactly as many bytes as it asks for, so that a sanitizer
// sees the first one beyond them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "dataplane/soft_memory.h"

namespace rain::dataplane {

class TestMemory {
 public:
  TestMemory(std::span<const RegisterSpec> registers, const MemoryShape& shape)
      : size_(SoftMemory::storage_bytes(registers, shape)),
        storage_(static_cast<std::byte*>(::operator new(size_, kAlignment))),
        memory_(registers, shape, zeroed()) {}

  SoftMemory& get() { return memory_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(std::byte* storage) const { ::operator delete(storage, kAlignment); }
  };
  std::span<std::byte> zeroed() {
    std::memset(storage_.get(), 0, size_);
    return {storage_.get(), size_};
  }

  std::size_t size_;
  std::unique_ptr<std::byte, Delete> storage_;
  SoftMemory memory_;
};

}  // namespace rain::dataplane
