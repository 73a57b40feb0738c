import { type Command, Help } from 'commander';
import { globalOptions } from './command-context.ts';

const TRUST_CLOCK = '--trust-clock';

/**
 * Of a program that stays up: it makes no such comparison as a command does before it writes (a gateway watches its
 * clock all the time, and takes nobody's word for it), so this option of all commands is none of its own. It is left out
 * of its help, and refused as one that there is not.
 */
export function withoutTrustClock(command: Command): Command {
  const help = Object.assign(new Help(), { showGlobalOptions: true });
  return command
    .configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions: (of) => help.visibleGlobalOptions(of).filter(({ long }) => long !== TRUST_CLOCK),
    })
    .hook('preAction', () => {
      if (globalOptions(command).trustClock === true)
        command.error(`error: unknown option '${TRUST_CLOCK}'`, { code: 'commander.unknownOption' });
    });
}
