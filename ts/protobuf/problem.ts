// What is wrong in a text file, and where. Types only; control plane.

/** Something wrong in a file: the place first ("/etc/models.config:3:7"), then what, expected and
 * got. */
export interface ConfigProblem {
  readonly place: string;
  readonly message: string;
}
