import { statSync } from 'node:fs';
import type { Configuration } from '../../../contracts/configuration.ts';
import { setDamagedViewsAside } from '../../../projections/damaged-views.ts';
import { finishSwitch, previousViews, switchFiles } from '../../../projections/switched-file.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import type { CommandContext } from '../command-context.ts';
import { askOrDo } from './ask-or-do.ts';

/** Puts other views of the folder in the place of the live ones. @throws as `askOrDo` */
export async function switchViews(
  context: CommandContext,
  { data }: Configuration,
  { to, isLiveDamaged }: { readonly to: 'rebuild' | 'previous'; readonly isLiveDamaged: boolean },
): Promise<'in the gateway' | 'in the folder'> {
  const files = viewFilesOf(data);
  const candidate = statSync(files[to]).ino;
  let isDone = false;
  let unkept: string | null = null;
  const where = await askOrDo({ type: 'switch-views', to }, { context, data }, () => {
    finishSwitch(files);
    // A gateway that has ended in the middle of it may have done it.
    isDone = statSync(files.live, { throwIfNoEntry: false })?.ino === candidate;
    if (isDone) return;
    if (isLiveDamaged) setDamagedViewsAside(files.live);
    unkept = switchFiles(files, files[to]);
  });
  const kept = previousViews(files);
  if (kept !== files.previous)
    context.warn(
      `warning: the views that were live stand in ${kept}, and could not be given their name: ${unkept ?? 'the gateway says why in its log'}\n`,
    );
  return isDone ? 'in the gateway' : where;
}
