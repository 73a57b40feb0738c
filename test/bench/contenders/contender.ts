export const CONTENDERS = [
  'direct',
  'nginx',
  'floor',
  'portkey',
  'before',
  'before-again',
  'ours-again',
  'ours',
] as const;
export type ContenderName = (typeof CONTENDERS)[number];
/** The same programs in further processes, where those are compared: two processes of one program differ, too. */
const AGAIN: readonly ContenderName[] = ['before-again', 'ours-again'];
export const isAgain = (name: ContenderName): boolean => AGAIN.includes(name);

/** Something that the load can be sent through. */
export interface Contender {
  readonly name: ContenderName;
  readonly port: number;
  /** Headers of its clients; several sets where it has several callers. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  /** Its processes; none for direct. */
  readonly pids: readonly number[];
  /** Node needs 6 to 8 s under load until its code is compiled. */
  readonly needsWarmUp: boolean;
}
