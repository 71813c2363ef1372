// A vector that grows without first writing zeros that are written over at once.
//
// Behaves like std::vector, except that resize() and construction from a size leave new elements as they are.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace watersmeet {

template <class T>
class UninitializedAllocator : public std::allocator<T> {
  static_assert(std::is_trivially_default_constructible_v<T>);

 public:
  template <class Other>
  struct rebind {  // NOLINT(readability-identifier-naming): the name that containers look for
    using other = UninitializedAllocator<Other>;
  };

  UninitializedAllocator() = default;
  template <class Other>
  explicit UninitializedAllocator(const UninitializedAllocator<Other>&) {}

  // Without arguments: default initialisation, which for T writes nothing.
  template <class Element>
  void construct(Element* place) {
    ::new (static_cast<void*>(place)) Element;
  }
  template <class Element, class... Arguments>
  void construct(Element* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Element(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using UninitializedVector = std::vector<T, UninitializedAllocator<T>>;

}  // namespace watersmeet
