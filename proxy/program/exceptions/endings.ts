/** The command of each word that ends an exception, and how it is told. */
export const ENDINGS = {
  approve: { command: 'ApproveException', done: 'approved' },
  drop: { command: 'DropException', done: 'dropped' },
} as const;
export type Ending = keyof typeof ENDINGS;
