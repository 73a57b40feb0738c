/** A backup is not as its manifest says. The message says what. */
export class BackupFault extends Error {
  override readonly name = 'BackupFault';
}
