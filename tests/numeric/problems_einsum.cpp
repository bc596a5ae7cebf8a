#include "numeric/problem_set.h"

namespace softneuro::test {

void add_problems_einsum(ProblemSet& set) {
  const auto with = [&](const char* equation, std::initializer_list<Shape> shapes) -> Case& {
    Case& added = set.add("einsum").param("equation", equation).exact();
    for (const Shape& shape : shapes) added.input(shape, integers());
    return added;
  };
  set.add("einsum")
      .param("equation", "ij,jk->ik")
      .input({2, 2}, explicit_values({1, 2, 3, 4}))
      .input({2, 2}, explicit_values({1, 10, 100, 1000}))
      .expect({201, 2010, 403, 4030}, Shape{2, 2});
  set.add("einsum")  // the diagonal, and its sum
      .param("equation", "ii->i")
      .input({2, 2}, explicit_values({1, 2, 3, 4}))
      .expect({1, 4}, Shape{2});
  set.add("einsum")
      .param("equation", "ii")
      .input({2, 2}, explicit_values({1, 2, 3, 4}))
      .expect({5}, Shape{});
  set.add("einsum")  // implicit: letters by alphabet
      .param("equation", "ba")
      .input({1, 2}, explicit_values({1, 2}))
      .expect({1, 2}, Shape{2, 1});
  for (const std::int64_t n : {1, 2, 7}) {
    with("ij->ji", {{n, 3}});
    with("ij->", {{n, 3}});
    with("ij->i", {{n, 3}});
    with("i,i", {{n}, {n}});
    with("i,j->ij", {{n}, {3}});
    with("bij,bjk->bik", {{2, n, 4}, {2, 4, 3}});
    with("bhid,bhjd->bhij", {{2, 3, n, 4}, {2, 3, 5, 4}});
    with("bhij,bhjd->bihd", {{2, 3, n, 5}, {2, 3, 5, 4}});
    with("abc,cd->abd", {{2, n, 4}, {4, 5}});
    with("...ij,...jk->...ik", {{2, 3, n, 4}, {3, 4, 5}});
    with("...ij, ...jk", {{2, 3, n, 4}, {2, 1, 4, 5}});
    with("...i->...", {{2, n}});
    with("ij,jk,kl->il", {{n, 2}, {2, 3}, {3, 4}});
    with("ijk,ijk->ijk", {{2, n, 3}, {2, n, 3}});
    with("ii,ij->j", {{n, n}, {n, 3}});
  }
  with("bij,bjk->bik", {{2, 0, 4}, {2, 4, 3}});
  with("ij,jk->ik", {{2, 0}, {0, 3}});
  with("bij,bjk->bik", {{1, 3, 4}, {2, 4, 3}});  // an axis of one broadcasts
  set.add("einsum")
      .param("equation", "bij,bjk->bik")
      .input({2, 5, 20})
      .input({2, 20, 6}, normal(0.2));
  for (const DataType type : {DataType::float16, DataType::float64, DataType::int32})
    set.add("einsum")
        .of(type)
        .param("equation", "ij,kj->ik")
        .input({3, 4}, integers())
        .input({2, 4}, integers());
}

}  // namespace softneuro::test
