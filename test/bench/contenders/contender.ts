/** `control` is `before` once more, in a process of its own: what two processes of one program differ by. */
export const CONTENDERS = ['direct', 'nginx', 'floor', 'portkey', 'before', 'control', 'ours'] as const;
export type ContenderName = (typeof CONTENDERS)[number];

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
