/** A name, or from the second on with a number behind it: of so many as are taken one more is free. */
export function firstFree(name: string, isTaken: (id: string) => boolean): string {
  let id = name;
  for (let nth = 2; isTaken(id); nth++) id = `${name}_${nth}`;
  return id;
}
