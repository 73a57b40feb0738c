import { existsSync } from 'node:fs';
import { readKnownViews } from '../../projections/known-views.ts';
import type { Projections } from '../../projections/projections.ts';
import { switchFiles } from '../../projections/switched-file.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import type { Asked } from './operator-request.ts';

/** Does in a gateway what an operator asks for. @throws Error where it is not done; then all is as it was */
export async function carryOut(
  asked: Asked,
  { projections, dataFolder }: { readonly projections: Projections; readonly dataFolder: string },
  signal: AbortSignal,
): Promise<void> {
  const files = viewFilesOf(dataFolder);
  const candidate = files[asked.to];
  if (!existsSync(candidate)) throw new Error(`there is no ${candidate}`);
  const [is, other] = [readKnownViews(files.live), readKnownViews(candidate)].map((known) => known?.identity ?? null);
  if (is?.ledgerId !== other?.ledgerId || is?.generation !== other?.generation)
    throw new Error(`${candidate} is of another ledger, or of another generation of it`);
  await projections.switchTo(candidate, () => switchFiles(files, candidate), signal);
}
