// The descriptors of the served protocols, for reflection. A separate file, which is loaded with
// the first request for one: few clients ask. Control plane, any thread.
import { DESCRIPTORS } from './generated/descriptors.js';

/** The serialized FileDescriptorProto of a file, or of the file that declares a symbol. */
export async function descriptorFile(by: 'name' | 'symbol', of: string): Promise<Buffer | null> {
  const found = DESCRIPTORS.find(({ name, symbols }) =>
    by === 'name' ? name === of : symbols.includes(of),
  );
  return found === undefined ? null : Buffer.from(found.base64, 'base64');
}
