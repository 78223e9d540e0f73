// Rules of products of matrices. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

constexpr char kInner = 'z', kLeft = 'y', kRight = 'x';

// Labels of a product's axes: batch axes from the right, then the matrix.
struct MatrixLabels {
  std::string a, b, out;
};

std::string batch_labels(size_t count, size_t of) {
  std::string labels;
  for (size_t i = of - count; i < of; ++i) labels += static_cast<char>('A' + i);
  return labels;
}

MatrixLabels matrix_labels(size_t a, size_t b, bool a_turned = false, bool b_turned = false) {
  if (a == 0 || b == 0) unproven("a product with a scalar");
  const size_t a_batch = a > 2 ? a - 2 : 0, b_batch = b > 2 ? b - 2 : 0;
  const size_t batch = std::max(a_batch, b_batch);
  MatrixLabels labels{batch_labels(a_batch, batch), batch_labels(b_batch, batch),
                      batch_labels(batch, batch)};
  if (a > 1) {
    labels.a += a_turned ? kInner : kLeft;
    labels.a += a_turned ? kLeft : kInner;
    labels.out += kLeft;
  } else {
    labels.a += kInner;
  }
  if (b > 1) {
    labels.b += b_turned ? kRight : kInner;
    labels.b += b_turned ? kInner : kRight;
    labels.out += kRight;
  } else {
    labels.b += kInner;
  }
  return labels;
}

// Rows on two batch axes with the same label only meet their own; a constant must not have them.
Value product_of(Call& call, size_t a, size_t b, bool a_turned, bool b_turned) {
  const bool ranked = call.in(a).dims && call.in(b).dims;
  if (!ranked && !call.in(a).varies() && !call.in(b).varies()) return Value::same();
  const MatrixLabels labels = matrix_labels(call.rank(a), call.rank(b), a_turned, b_turned);
  const Value* const values[] = {&call.in(a), &call.in(b)};
  const std::string names[] = {labels.a, labels.b};
  return contracted(call, values, names, labels.out);
}

Value plus(Call& call, const Value& sum, size_t index) {
  if (!call.has(index)) return sum;
  const Value* const values[] = {&sum, &call.in(index)};
  return broadcast(call, values);
}

void mat_mul(Call& call) { call.set(0, product_of(call, 0, 1, false, false)); }

void fused_mat_mul(Call& call) {
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0) {
    if (!call.all_same()) unproven("transBatchA or transBatchB moves the batch axes");
  }
  const bool a = call.integer("transA", 0) != 0, b = call.integer("transB", 0) != 0;
  call.set(0, product_of(call, 0, 1, a, b));
}

void gemm(Call& call) {
  const bool a = call.integer("transA", 0) != 0, b = call.integer("transB", 0) != 0;
  call.set(0, plus(call, product_of(call, 0, 1, a, b), 2));
}

// (A, B, A_zero, B_zero), and scales.
void integer_product(Call& call) {
  for (size_t i = 2; i < call.count(); ++i) call.need_same(i, "a scale or zero point");
  if (call.in(0).is_rows() && call.has(2)) {
    const Dims& zero = call.dims(2);
    const bool one = zero.empty() || (zero.size() == 1 && zero[0].is(1));
    if (!one) unproven("zero points differ between rows");
  }
  call.set(0, product_of(call, 0, 1, false, false));
}

// (A, A_scale, A_zero, B, B_scale, B_zero, Y_scale, Y_zero).
void scaled_product(Call& call) {
  const bool gemm = call.op() == "QGemm";
  const size_t b = 3;
  for (size_t i = 1; i < call.count(); ++i) {
    if (i != b && !(gemm && i == 6)) call.need_same(i, "a scale or zero point");
  }
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const Dims& dims = call.dims(i);
    const bool one = dims.empty() || (dims.size() == 1 && dims[0].is(1));
    if (!one && call.in(0).varies()) unproven("scales differ between rows");
  }
  const bool turned_a = gemm && call.integer("transA", 0) != 0;
  const bool turned_b = gemm && call.integer("transB", 0) != 0;
  Value out = product_of(call, 0, b, turned_a, turned_b);
  call.set(0, gemm ? plus(call, out, 6) : std::move(out));
}

// Weights packed in an operator-specific form: [..., K] and constants.
void packed_product(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "the weights");
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  if (data.varies() && data.axis + 1 == rank) couples("the sum is computed over the rows");
  Dims out = call.dims(0);
  const int64_t columns = call.integer("N", -1);
  out.back() = columns >= 0 ? Dim(columns) : call.fresh();
  call.set(0, moved(data, std::move(out), data.axis));
}

// An equation's labels, with distinct letters for an ellipsis.
struct Equation {
  std::vector<std::string> inputs;
  std::string out;
};

// Replaces "..." by labels for `count` axes.
std::string with_ellipsis(std::string term, size_t count, size_t most) {
  const size_t at = term.find("...");
  if (at == std::string::npos) return term;
  std::string labels;
  for (size_t i = most - count; i < most; ++i) labels += static_cast<char>(0x80 + i);
  return term.replace(at, 3, labels);
}

Equation equation_of(Call& call) {
  std::string text;
  for (const char c : call.text("equation", "")) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation equation;
  std::vector<std::string> terms(1);
  for (const char c : left) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  if (terms.size() != call.count()) unproven("the equation has a different number of inputs");
  std::vector<size_t> hidden;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool open = terms[i].find("...") != std::string::npos;
    const size_t named = terms[i].size() - (open ? 3 : 0);
    if (call.rank(i) < named) unproven("the equation does not fit the ranks of the inputs");
    hidden.push_back(open ? call.rank(i) - named : 0);
  }
  const size_t most = *std::max_element(hidden.begin(), hidden.end());
  for (size_t i = 0; i < terms.size(); ++i) {
    equation.inputs.push_back(with_ellipsis(terms[i], hidden[i], most));
  }
  if (arrow != std::string::npos) {
    equation.out = with_ellipsis(text.substr(arrow + 2), most, most);
    return equation;
  }
  std::string all, once;
  for (const std::string& term : equation.inputs) all += term;
  for (const char c : all) {
    if (std::count(all.begin(), all.end(), c) == 1 || (c & 0x80) != 0) {
      if (once.find(c) == std::string::npos) once += c;
    }
  }
  std::sort(once.begin(), once.end(), [](char a, char b) {
    const bool hidden_a = (a & 0x80) != 0, hidden_b = (b & 0x80) != 0;
    return hidden_a != hidden_b ? hidden_a : a < b;
  });
  equation.out = once;
  return equation;
}

void einsum(Call& call) {
  std::vector<const Value*> values;
  for (size_t i = 0; i < call.count(); ++i) values.push_back(&call.in(i));
  const Equation equation = equation_of(call);
  call.set(0, contracted(call, values, equation.inputs, equation.out));
}

// Square matrices on the last two axes.
void of_matrices(Call& call) {
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  if (data.varies() && data.axis + 2 >= rank) couples("the batch axis is an axis of the matrix");
  Dims out = call.dims(0);
  out.resize(rank < 2 ? 0 : rank - 2);
  call.set(0, moved(data, std::move(out), data.axis));
}

}  // namespace

std::vector<Rule> product_rules() {
  const char* const family = "Products";
  const char* const says =
      "It sums an axis other than the batch axis. Rows of both inputs are on the same batch "
      "axis; a constant has 1 entry or none there.";
  return {
      {family, says, "", {"MatMul"}, mat_mul},
      {family, says, "", {"Gemm"}, gemm},
      {family, says, "", {"Einsum"}, einsum},
      {family, says, "com.microsoft", {"FusedMatMul", "TransposeMatMul"}, fused_mat_mul},
      {family, says, "com.microsoft", {"FusedGemm"}, gemm},
      {family,
       "The same as for MatMul; scales and zero points are constants for all rows.",
       "",
       {"MatMulInteger"},
       integer_product},
      {family,
       "The same as for MatMul; scales and zero points are constants for all rows.",
       "",
       {"QLinearMatMul"},
       scaled_product},
      {family,
       "The same as for MatMul; scales and zero points are constants for all rows.",
       "com.microsoft",
       {"QGemm"},
       scaled_product},
      {family,
       "The weights are constants.",
       "com.microsoft",
       {"MatMulBnb4", "MatMulFpQ4", "MatMulNBits"},
       packed_product},
      {family, "The rows are not on the last two axes.", "", {"Det"}, of_matrices},
  };
}

}  // namespace serval::rows
