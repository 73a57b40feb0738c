import type { SceneName } from '../crash-cases.ts';
import { copiedFolder } from './copied-folder.ts';
import { movedClock } from './moved-clock.ts';
import { rolledBack } from './rolled-back.ts';
import type { SceneAudit, SceneOptions } from './scene.ts';

const SCENE_OF: Readonly<Record<SceneName, (options: SceneOptions) => Promise<SceneAudit>>> = {
  'copied-folder': copiedFolder,
  'moved-clock': movedClock,
  'rolled-back': rolledBack,
};

/** Plays a scene on a site of its own, and audits it. Stops by itself; leaves no process. */
export const playScene = (name: SceneName, options: SceneOptions): Promise<SceneAudit> => SCENE_OF[name](options);
