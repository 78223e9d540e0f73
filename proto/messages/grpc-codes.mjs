// Writes gRPC's status codes for both languages, as the wire schema of TensorFlow Serving's
// statuses lists them. Build time only.
import { declaredBy } from './fields.mjs';

const SOURCE = 'tensorflow_error.proto';
const ORIGIN = `Generated from proto/wire/${SOURCE}\n// by proto/generate.mjs.`;

const pascal = (name) =>
  name
    .split('_')
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join('');

// Returns the names of the codes, whose numbers are 0, 1, 2, ...
function codeNames() {
  const [{ values }] = declaredBy(SOURCE).types;
  const names = Object.keys(values);
  const gap = names.find((name, index) => values[name] !== index);
  if (gap !== undefined) throw new Error(`${SOURCE}: ${gap} is not the code after the one before`);
  return names;
}

/** Returns the C++ header: a constant for each code, and their names. */
export function writeGrpcHeader() {
  const names = codeNames();
  const codes = names.map((name, code) => `inline constexpr int k${pascal(name)} = ${code};\n`);
  return `// gRPC's status codes. Data for hot and control plane, any thread. ${ORIGIN}
#pragma once

#include <array>
#include <string_view>

namespace serval::grpc_code {

${codes.join('')}
// By code.
inline constexpr std::array<std::string_view, ${names.length}> kNames = {
${names.map((name) => `    "${name}",\n`).join('')}};

}  // namespace serval::grpc_code
`;
}

/** Returns the TypeScript module: an enum whose members have the codes' names. */
export function writeGrpcModule() {
  const members = codeNames().map((name, code) => `  ${name} = ${code},\n`);
  return `// gRPC's status codes. Data only; any thread. ${ORIGIN}
export enum GrpcCode {
${members.join('')}}
`;
}
