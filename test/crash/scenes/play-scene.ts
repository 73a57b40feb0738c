import { canLimit } from '../../shortages/descriptor-limit.ts';
import { canMount } from '../../shortages/mounted-disk.ts';
import type { SceneName } from '../crash-cases.ts';
import { copiedFolder } from './copied-folder.ts';
import { fewDescriptors } from './few-descriptors.ts';
import { fullDisk } from './full-disk.ts';
import { movedClock } from './moved-clock.ts';
import { rolledBack } from './rolled-back.ts';
import type { SceneAudit, SceneOptions } from './scene.ts';

const SCENE_OF: Readonly<Record<SceneName, (options: SceneOptions) => Promise<SceneAudit>>> = {
  'copied-folder': copiedFolder,
  'moved-clock': movedClock,
  'rolled-back': rolledBack,
  'full-disk': fullDisk,
  'few-descriptors': fewDescriptors,
};

/** Why a scene cannot be played on this machine; null where it can. */
export function notPlayable(name: SceneName): string | null {
  if (name === 'full-disk' && !canMount) return 'no file system can be mounted here';
  if (name === 'few-descriptors' && !canLimit) return 'the limits of a process cannot be changed here (prlimit)';
  return null;
}

/** Plays a scene on a site of its own, and audits it. Stops by itself; leaves no process. */
export const playScene = (name: SceneName, options: SceneOptions): Promise<SceneAudit> => SCENE_OF[name](options);
