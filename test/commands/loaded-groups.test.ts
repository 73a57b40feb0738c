import { expect, it } from 'vitest';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';

it('a command line has the commands of the groups that it names, and the same help', async () => {
  const { context } = endedLater(await programInProcess());
  const all = await gatewayProgram(context);
  const some = await gatewayProgram(context, ['--json', 'ledger', '--help']);
  expect(some.helpInformation()).toBe(all.helpInformation());
  const withCommands = (program: typeof all): string[] =>
    program.commands.filter(({ commands }) => commands.length > 0).map((command) => command.name());
  expect(withCommands(some)).toEqual(['relay', 'ledger']);
  expect(withCommands(all).length).toBeGreaterThan(7);
  expect(
    (await gatewayProgram(context, ['completion', 'bash'])).commands.map(({ commands }) => commands.length),
  ).toEqual(all.commands.map(({ commands }) => commands.length));
});
