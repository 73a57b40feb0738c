import { brief } from '../../../contracts/printable.ts';
import { accountsAsideIn, UNPARKED } from '../../../projections/accounts-aside-in.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { type Examined, type Finding, fault, firstNamed, looked, ok, warn } from './finding.ts';

/** Which accounts the gateway of this folder refuses: parked ones are an operator's will, any other has lost its service. */
export const lookAtAccounts = ({ configuration, context, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'accounts',
    advice: null,
    look: () => {
      const next = (...words: readonly string[]): string =>
        nextCommand(startedWithOf(context), 'gateway', 'projections', ...words);
      const aside = accountsAsideIn(configuration.data);
      if (aside.length === 0) return ok('none is set aside');
      const named = firstNamed(aside.map(({ accountId, cause, why }) => `${brief(accountId)} (${cause}: ${why})`));
      const says = `${aside.length} set aside, whose requests are refused: ${named}`;
      if (aside.every(({ cause }) => cause === UNPARKED))
        return warn(
          says,
          'the gateway reads what has waited once its log answers; where none runs, its next start does',
        );
      if (aside.every(({ cause }) => cause === 'parked' || cause === UNPARKED))
        return warn(says, `\`${next('unpark', 'ACCOUNT')}\` serves one again`);
      return fault(says, `\`${next('status')}\` names each with its event; a program that can read that serves it`);
    },
  });
