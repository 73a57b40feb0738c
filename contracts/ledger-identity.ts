import { type LedgerId, ledgerId } from './ids.ts';

/** Which ledger, and how often a loss of it was accepted. */
export interface LedgerIdentity {
  readonly ledgerId: LedgerId;
  /** 1 from its birth to its first accepted loss. */
  readonly generation: number;
}

/** `ledger_01890a5dac967abcbcceb302099a8057/1`: as it travels beside what the ledger has. */
export const identityText = ({ ledgerId, generation }: LedgerIdentity): string => `${ledgerId}/${generation}`;

const TEXT = /^(ledger_[0-9a-f]{32})\/([1-9]\d{0,8})$/;

/** Null where the text is not of that form. */
export function identityOfText(text: string): LedgerIdentity | null {
  const [, id, generation] = TEXT.exec(text) ?? [];
  return id === undefined ? null : { ledgerId: ledgerId(id), generation: Number(generation) };
}

export const isSameLedger = (one: LedgerIdentity, other: LedgerIdentity): boolean =>
  one.ledgerId === other.ledgerId && one.generation === other.generation;
