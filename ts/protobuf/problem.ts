// A problem in a text file, with its location. Types only; control plane.

/**
 * A problem in a file: the location first ("/etc/models.config:3:7"), then what, expected and got.
 */
export interface ConfigProblem {
  readonly place: string;
  readonly message: string;
}
