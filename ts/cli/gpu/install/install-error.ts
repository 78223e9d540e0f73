// Why a package could not be installed. Control plane.

export class InstallError extends Error {
  override readonly name = 'InstallError';
  /** Whether retrying cannot help. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}
