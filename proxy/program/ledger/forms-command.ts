import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import { BASE_FORMS, describeForms, type Forms, formsBeyond, OWN_FORMS } from '../../../contracts/event-forms.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { adoptForms, formsToAdopt } from '../../../ledger/forms/adopt-forms.ts';
import { readClaims, readRelayClaim, type SeenClaim, standingOf } from '../../../ledger/forms/claims.ts';
import { type LedgerState, readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { nameArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog, withReadLog } from '../command-context.ts';
import { show, type Terminal, table, wrapped } from '../show.ts';

/** What of the forms of events an operator may want to know. */
interface FormsView {
  readonly state: LedgerState;
  /** What this program would adopt; null where there is nothing. */
  readonly toAdopt: Forms | null;
  readonly live: readonly SeenClaim[];
  readonly inTheWay: readonly SeenClaim[];
}

/** `gateway ledger forms`: who reads which forms of events, and their adoption. */
export function addFormsCommand(ledger: Command, context: CommandContext): void {
  ledger
    .command('forms')
    .description(
      'show in which forms events are written, who reads newer ones, and what is in the way of writing them. A gateway' +
        ' adopts them by itself when every live proxy, and the relay of kafka.topic, has read them for eventForms.adoptAfterMs;' +
        ' --adopt does so at once,' +
        ' after which no proxy can be rolled back',
    )
    .option('--adopt', 'adopt what this program reads, if every live proxy and the relay read it')
    .option(
      '--gone <proxy>',
      'a proxy whose machine is gone for good: it is not asked (again for more)',
      (name: string, before: readonly string[]) => [...before, nameArgument(name)],
      [],
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger forms\n  gateway ledger forms --adopt\n  gateway ledger forms --adopt --gone prx_0123',
    )
    .action(async ({ adopt, gone }: { readonly adopt?: true; readonly gone: readonly string[] }, command: Command) => {
      if (adopt !== true && gone.length > 0) throw new CommandError('--gone goes with --adopt', EXIT.usage);
      const work = async (log: EventLog, { kafka }: Configuration): Promise<void> => {
        const ask = { log, topic: kafka?.topic ?? null, nowMs: context.clock() };
        if (adopt === true) await adoptNow(context, ask, gone);
        const view = await viewOf(ask);
        show(context, command, { json: jsonOf(view), text: () => textOf(view, context) });
      };
      await (adopt === true ? withEventLog(context, command, work) : withReadLog(context, command, work));
    });
}

interface FormsQuestion {
  readonly log: EventLog;
  /** Whose relay is asked; null where the configuration names none. */
  readonly topic: string | null;
  readonly nowMs: number;
}

async function viewOf({ log, topic, nowMs }: FormsQuestion): Promise<FormsView> {
  const state = await readLedgerState(log);
  const toAdopt = formsToAdopt(state);
  const relay = topic === null ? null : await readRelayClaim(log, topic, nowMs);
  const claims = [...(await readClaims(log)), ...(relay === null ? [] : [relay])];
  const { live, inTheWay } = standingOf(claims, toAdopt ?? {});
  return { state, toAdopt, live, inTheWay };
}

/** @throws CommandError where a live claim does not read it, or there is no such proxy to leave out */
async function adoptNow(context: CommandContext, ask: FormsQuestion, gone: readonly string[]): Promise<void> {
  const { toAdopt, live, inTheWay } = await viewOf(ask);
  const unknown = gone.find((name) => live.every(({ proxy }) => proxy !== name));
  if (unknown !== undefined) throw new CommandError(`${unknown}: there is no live claim of such a proxy`, EXIT.refused);
  if (toAdopt === null) return;
  const asked = inTheWay.filter(({ proxy }) => !gone.includes(proxy));
  if (asked.length > 0)
    throw new CommandError(
      [
        'nothing was adopted, for these do not read it all:',
        ...asked.map((claim) => `  ${claim.proxy}: ${describeForms(formsBeyond(toAdopt, claim.reads))}`),
        'Upgrade them; one whose machine is gone for good is left out with --gone <proxy>.',
      ].join('\n'),
      EXIT.refused,
    );
  const reason =
    gone.length === 0 ? 'an operator: every live claim reads them' : 'an operator: those left out are gone';
  await adoptForms(ask.log, { forms: toAdopt, without: gone, reason, recording: recordingOf(context) });
}

const beyondBase = (forms: Forms): Forms => formsBeyond(forms, BASE_FORMS);

const jsonOf = ({ state, toAdopt, live, inTheWay }: FormsView): unknown => ({
  adopted: beyondBase(state.adopted),
  own: beyondBase(OWN_FORMS),
  toAdopt: toAdopt ?? {},
  claims: live.map(({ proxy, epoch, atMs, reads }) => ({
    ...{ proxy, epoch, claimedAt: new Date(atMs).toISOString() },
    ...{ reads: beyondBase(reads), lacks: formsBeyond(toAdopt ?? {}, reads) },
  })),
  inTheWay: inTheWay.map(({ proxy }) => proxy),
});

function textOf({ state, toAdopt, live, inTheWay }: FormsView, terminal: Terminal): string {
  const rows = live.map(({ proxy, epoch, atMs, reads }) => [
    ...[proxy, String(epoch), new Date(atMs).toISOString()],
    ...[describeForms(beyondBase(reads)), describeForms(formsBeyond(toAdopt ?? {}, reads))],
  ]);
  const waits = inTheWay.length === 0 ? 'nothing' : inTheWay.map(({ proxy }) => proxy).join(', ');
  return [
    wrapped(
      `adopted, beyond what every program reads: ${describeForms(beyondBase(state.adopted)) || 'nothing'}`,
      terminal,
    ),
    wrapped(
      `to be adopted: ${toAdopt === null ? 'nothing' : `${describeForms(toAdopt)}; in the way: ${waits}`}`,
      terminal,
    ),
    table(['proxy', 'epoch', 'claimed at', 'reads beyond that', 'does not read'], rows, terminal),
  ].join('\n');
}
