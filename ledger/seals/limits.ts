export const SEAL_LIMITS = Object.freeze({
  /** Events that are hashed in one turn of the event loop, beside requests: half a millisecond. */
  hashesPerTurn: 100,
  /** Ranges are made to begin at multiples of so many events, where the events of a seal are one: 15 of 16 nodes are then shared. */
  rangesAt: 16,
  /** Between two looks for more, at a log that hashes beside this thread. */
  lookMs: 200,
  /**
   * After a page, in times of what that took: on a machine that is busy a page takes longer, and whoever settles has the
   * processor meanwhile. On one that is not, 50,000 events a second are hashed.
   */
  restPerWork: 3,
  /** Between two tries of what is due and could not be done, at the most. */
  retryMs: 5_000,
  /** Events that are counted to find where the newest seal ends, by who does not follow the log: seconds, on a server. */
  countedMax: 100_000,
  /** Seals of others that are read at once. */
  sealsAheadMax: 100,
  /**
   * What the clock of a seal may be behind that of its key's introduction: one that was set by hand is off by hours, as by a time
   * zone. Which key follows which is not asked of clocks. `verify-export.mjs` has the same.
   */
  clocksMs: 86_400_000,
  /** Tries to introduce a key, against a gateway that seals. */
  rotateAttempts: 5,
  /** Of a file that seals are copied to, what is read to find the last of them: far more than one line. */
  copyTailBytes: 65_536,
  /** For that file's place to answer; to start the process that asks it takes seconds on a machine that is busy. */
  copyAnswerMs: 30_000,
  /** The same at the gateway's end, which is not held up by it: less than all that is closed with the sealer has. */
  copyCloseMs: 5_000,
});
