// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth {

/// An immutable list of texts; copies share it.
class SharedTexts {
 public:
  using List = std::vector<std::string>;
  using const_iterator = List::const_iterator;

  SharedTexts() = default;
  SharedTexts(List texts)  // NOLINT(google-explicit-constructor): the list itself, as readers see it
      : texts_(texts.empty() ? nullptr : std::make_shared<const List>(std::move(texts))) {}
  SharedTexts(std::initializer_list<std::string> texts) : SharedTexts(List(texts)) {}
  /// @param texts  null: none
  explicit SharedTexts(std::shared_ptr<const List> texts) : texts_(std::move(texts)) {}

  const List& list() const {
    static const List kNone;
    return texts_ != nullptr ? *texts_ : kNone;
  }
  const_iterator begin() const { return list().begin(); }
  const_iterator end() const { return list().end(); }
  std::size_t size() const { return list().size(); }
  bool empty() const { return texts_ == nullptr || texts_->empty(); }
  const std::string& front() const { return list().front(); }
  friend bool operator==(const SharedTexts& a, const SharedTexts& b) {
    return a.texts_ == b.texts_ || a.list() == b.list();
  }

 private:
  std::shared_ptr<const List> texts_;
};

}  // namespace berth
