/** What a member of an account may be; the one who has opened it is its first owner. */
export const ROLES = ['owner', 'admin', 'member'] as const;
export type Role = (typeof ROLES)[number];

/** Who asks: staff at the command line, a member of an account, or the gateway itself (settlement, sweepers, renewals, payments' outcomes). */
export type Actor =
  | { readonly type: 'operator'; readonly name: string }
  | { readonly type: 'member'; readonly email: string }
  | { readonly type: 'system' };

export const SYSTEM: Actor = { type: 'system' };

export const HOLDERS = [...ROLES, 'operator', 'system'] as const;
type Holder = (typeof HOLDERS)[number];

/** What of it: anything of the account; of members only such as are no owners, and become none; of keys and memberships only the actor's own. */
export type Reach = 'any' | 'below owner' | 'own';

interface Permission {
  /** What is done, as people say it. */
  readonly does: string;
  readonly may: Readonly<Partial<Record<Holder, Reach>>>;
}

const any = (...holders: readonly Holder[]): Permission['may'] =>
  Object.fromEntries(holders.map((holder) => [holder, 'any']));

const STAFF = any('operator');
const GATEWAY = any('system');
const OWNERS = any('owner', 'operator');
const KEEPERS = any('owner', 'admin', 'operator');
/** What a provider has said of them. */
const OF_PAYMENTS = any('operator', 'system');
const OF_KEYS = { ...KEEPERS, member: 'own' } as const;
const OF_MEMBERS = { ...OWNERS, admin: 'below owner' } as const;

/**
 * Who may do what to an account, and see of it: an action is a command of the account (ledger/account/commands.ts), or a
 * reading of it (the last ones). Whoever is not named may not; who is no member of the account learns nothing of it, not
 * even that it is there. The README's table and the tests are made from this one.
 */
export const PERMISSIONS = {
  OpenAccount: { does: 'open an account', may: STAFF },
  AddMember: { does: 'add a member', may: OF_MEMBERS },
  ChangeMemberRole: { does: "change a member's role", may: OF_MEMBERS },
  /** The last owner stays, whoever asks (ledger/account/decide-members.ts). */
  RemoveMember: { does: 'remove a member', may: { ...OF_MEMBERS, member: 'own' } },
  IssueKey: { does: 'issue a key', may: OF_KEYS },
  RotateKey: { does: 'rotate a key', may: OF_KEYS },
  RevokeKey: { does: 'revoke a key', may: OF_KEYS },
  SetSpendLimit: { does: 'set a monthly limit', may: KEEPERS },
  ChangePlan: { does: 'change the plan', may: OWNERS },
  SavePaymentMethod: { does: 'save a payment method', may: { ...OWNERS, ...GATEWAY } },
  RemovePaymentMethod: { does: 'remove a payment method', may: OWNERS },
  StartPurchase: { does: 'buy credits', may: OWNERS },
  EndPurchase: { does: 'end a purchase that is open', may: OWNERS },
  ConfigureAutoReload: { does: 'configure auto-reload', may: OWNERS },
  GrantCredits: { does: 'grant credits', may: STAFF },
  ReinstateCredits: { does: 'give expired credits back', may: STAFF },
  RevokeGrant: { does: 'revoke credits', may: STAFF },
  RestoreGrant: { does: 'restore revoked credits', may: STAFF },
  ReverseDebit: { does: 'reverse a debit', may: STAFF },
  AdjustBalance: { does: 'adjust the balance', may: STAFF },
  ApproveException: { does: 'approve an exception', may: STAFF },
  DropException: { does: 'drop an exception', may: STAFF },
  EndExceptions: { does: 'end many exceptions', may: STAFF },
  SuspendAccount: { does: 'suspend the account', may: STAFF },
  ReinstateAccount: { does: 'reinstate the account', may: STAFF },
  RecordUsage: { does: 'record usage, and debit it', may: GATEWAY },
  ReportLateUsage: { does: 'record usage that came late', may: GATEWAY },
  LeaseCredits: { does: 'lease credit to a proxy', may: GATEWAY },
  ReleaseLease: { does: 'give a lease back', may: GATEWAY },
  NarrowLease: { does: 'narrow a lease', may: GATEWAY },
  ExpireCredits: { does: 'write down what has expired', may: GATEWAY },
  RecordPayment: { does: 'record a payment', may: OF_PAYMENTS },
  RecordPaymentFailure: { does: 'record that a payment failed', may: OF_PAYMENTS },
  RequirePaymentAction: { does: 'record that a payment waits for whoever pays', may: OF_PAYMENTS },
  RecordRefund: { does: 'record a refund', may: OF_PAYMENTS },
  WithdrawRefund: { does: 'withdraw a refund', may: OF_PAYMENTS },
  RecordDispute: { does: 'record a dispute', may: OF_PAYMENTS },
  CloseDispute: { does: 'record how a dispute ended', may: OF_PAYMENTS },
  AbandonPayment: { does: 'record that a payment will not be made', may: OF_PAYMENTS },
  StartAutoReload: { does: 'start an auto-reload', may: GATEWAY },
  StartRenewal: { does: "start a plan's renewal", may: GATEWAY },
  EndPlan: { does: 'end a plan', may: any('operator', 'system') },
  CloseStatement: { does: "close a month's statement", may: any('operator', 'system') },
  ShowAccount: { does: 'see the account: credits, grants, limits, usage', may: KEEPERS },
  ListMembers: { does: 'see its members', may: KEEPERS },
  ListKeys: { does: 'see its keys', may: OF_KEYS },
  ShowStatement: { does: 'see its statements', may: KEEPERS },
  ListPayments: { does: 'see its payments', may: OWNERS },
} as const satisfies Readonly<Record<string, Permission>>;

export type Action = keyof typeof PERMISSIONS;

/** Null where the holder may not. */
export const reachOf = (action: Action, holder: Holder): Reach | null =>
  (PERMISSIONS[action].may as Permission['may'])[holder] ?? null;

/** Of the command line those commands that a member may give, too; the README names them. All others are for operators alone. */
export const FOR_MEMBERS: { readonly groupsOfOneAccount: readonly string[]; readonly forEverybody: readonly string[] } =
  {
    /** Their commands which name an account first ask the table above what a member of it may. */
    groupsOfOneAccount: ['account', 'credits', 'key', 'limit', 'member', 'payment'],
    /** Of no account: what is for sale is for everybody to see, as models' prices are at /pricing. */
    forEverybody: ['plan list'],
  };

/** @param first what a command's first argument is called; null where it takes none */
export const isForMembers = ({ group, name, first }: { group: string; name: string; first: string | null }): boolean =>
  (first === 'account' && FOR_MEMBERS.groupsOfOneAccount.includes(group)) ||
  FOR_MEMBERS.forEverybody.includes(`${group} ${name}`);

/** As it stands in the ledger. */
export function nameOfActor(actor: Actor): string {
  if (actor.type === 'operator') return actor.name;
  return actor.type === 'member' ? actor.email : 'system';
}
