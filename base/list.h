#pragma once
// List: an intrusive doubly linked list.
//
// Role:      queues of objects that exist anyway (requests, posted receives): no allocation,
//            removal from the middle in O(1).
// Users:     every layer.
// Threads:   the caller locks.
// See also:  base/mpsc_queue.h for a queue between threads.

#include <cstddef>

#include "base/check.h"

namespace mpc {

// A member of the listed type, one per list that it can be in at the same time.
struct ListLink {
  ListLink* next = nullptr;
  ListLink* previous = nullptr;
  bool is_linked() const noexcept { return next != nullptr; }
};

// Ownership: none; an object leaves the list before it dies.
//   struct Item { ListLink link; };   List<Item, &Item::link> items;
template <class T, ListLink T::*Link>
class List {
 public:
  List() noexcept { head_.next = head_.previous = &head_; }
  ~List() { CHECK(empty(), "a list dies with objects in it"); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const noexcept { return head_.next == &head_; }
  T* front() noexcept { return empty() ? nullptr : object(head_.next); }
  T* back() noexcept { return empty() ? nullptr : object(head_.previous); }

  void push_back(T& item) noexcept { insert(item, head_.previous, &head_); }
  void push_front(T& item) noexcept { insert(item, &head_, head_.next); }
  T* pop_front() noexcept {
    T* item = front();
    if (item != nullptr) remove(*item);
    return item;
  }
  static void remove(T& item) noexcept {
    ListLink& link = item.*Link;
    DCHECK(link.is_linked(), "removed twice");
    link.previous->next = link.next;
    link.next->previous = link.previous;
    link.next = link.previous = nullptr;
  }

  // For `for (T& item : list)`. The present item may be removed only through erase-safe
  // loops: take next first.
  class Iterator {
   public:
    explicit Iterator(ListLink* at) noexcept : at_(at) {}
    T& operator*() const noexcept { return *object(at_); }
    Iterator& operator++() noexcept {
      at_ = at_->next;
      return *this;
    }
    bool operator!=(const Iterator& other) const noexcept { return at_ != other.at_; }

   private:
    ListLink* at_;
  };
  Iterator begin() noexcept { return Iterator(head_.next); }
  Iterator end() noexcept { return Iterator(&head_); }

 private:
  static void insert(T& item, ListLink* before, ListLink* after) noexcept {
    ListLink& link = item.*Link;
    DCHECK(!link.is_linked(), "in a list already");
    link.previous = before;
    link.next = after;
    before->next = &link;
    after->previous = &link;
  }
  static T* object(ListLink* link) noexcept {
    // Distance of the member from the beginning of T.
    alignas(T) static char storage[sizeof(T)];
    const auto* sample = reinterpret_cast<const T*>(storage);
    const auto offset = reinterpret_cast<const char*>(&(sample->*Link)) - storage;
    return reinterpret_cast<T*>(reinterpret_cast<char*>(link) - offset);
  }

  ListLink head_;
};

}  // namespace mpc
